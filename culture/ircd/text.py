"""Text that has to fit: cutting and packing by bytes, never inside a character."""

from collections.abc import Iterable, Iterator

from culture.protocol.framing import BODY_BYTES, CRLF
from culture.protocol.line import format_line
from culture.protocol.multiline import Fragment, decompose

LINE_BYTES = BODY_BYTES - len(CRLF)
REPEATED_BYTES = 300
"""Of what a client wrote. With the longest names of servers and nicks there is room for a text behind it."""


def size(text: str) -> int:
    """How many bytes it takes on the wire."""
    return len(text) if text.isascii() else len(text.encode())


def cut(text: str, limit_bytes: int) -> str:
    if len(text) <= limit_bytes and text.isascii():
        return text
    raw = text.encode()
    return text if len(raw) <= limit_bytes else raw[:limit_bytes].decode(errors="ignore")


def room_behind(source: str, command: str, *params: str) -> int:
    """How many bytes of text fit in a line behind all this (RFC 2812 section 2.3)."""
    return LINE_BYTES - len(format_line(command, *params, "", source=source).encode())


def is_number(text: str) -> bool:
    """In the digits of the protocol: Python knows those of all scripts."""
    return text.isascii() and text.isdigit()


def one_word(param: str) -> str:
    """What a client wrote, where it is repeated in the middle of a line; `*` if it would not fit there.

    If it is so long that what stands behind it would be lost, its beginning.
    """
    return "*" if not param or param.startswith(":") or " " in param else cut(param, REPEATED_BYTES)


def pack(words: Iterable[str], limit_bytes: int, separator: str = " ") -> Iterator[str]:
    """The words in as few lines as they fit in."""
    line: list[str] = []
    length = -len(separator)
    for word in words:
        size = len(word.encode()) + len(separator)
        if line and length + size > limit_bytes:
            yield separator.join(line)
            line, length = [], -len(separator)
        line.append(word)
        length += size
    if line:
        yield separator.join(line)


def fragments_of(text: str, room_bytes: int, composition: str = "") -> tuple[Fragment, ...]:
    """A text in pieces that fit in a line: those in which it was sent, as far as that is known."""
    sent = decompose(text, composition)
    if sent and all(size(fragment.text) <= room_bytes for fragment in sent):
        return sent
    fragments = []
    for line in text.split("\n"):
        is_joined = False
        while True:
            piece = cut(line, room_bytes)
            fragments.append(Fragment(piece, is_joined))
            line, is_joined = line[len(piece) :], True
            if not line:
                break
    return tuple(fragments)
