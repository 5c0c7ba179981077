"""Text that has to fit: cutting and packing by bytes, never inside a character."""

from collections.abc import Iterable, Iterator

from culture.protocol.framing import BODY_BYTES, CRLF
from culture.protocol.line import format_line

LINE_BYTES = BODY_BYTES - len(CRLF)


def cut(text: str, limit_bytes: int) -> str:
    raw = text.encode()
    return text if len(raw) <= limit_bytes else raw[:limit_bytes].decode(errors="ignore")


def room_behind(source: str, command: str, *params: str) -> int:
    """How many bytes of text fit in a line behind all this (RFC 2812 section 2.3)."""
    return LINE_BYTES - len(format_line(command, *params, "", source=source).encode())


def pack(words: Iterable[str], limit_bytes: int) -> Iterator[str]:
    """The words in as few lines as they fit in, separated by spaces."""
    line: list[str] = []
    length = -1
    for word in words:
        size = len(word.encode()) + 1
        if line and length + size > limit_bytes:
            yield " ".join(line)
            line, length = [], -1
        line.append(word)
        length += size
    if line:
        yield " ".join(line)
