"""Fit text into lines: truncate and pack by bytes, never inside a character."""

from collections.abc import Iterable, Iterator

from culture.protocol.framing import BODY_BYTES, CRLF
from culture.protocol.line import format_line
from culture.protocol.multiline import Fragment, decompose

LINE_BYTES = BODY_BYTES - len(CRLF)
# The most of a client's parameter that a reply repeats: even with the longest names a text fits behind it.
ECHOED_PARAM_BYTES = 300


def size(text: str) -> int:
    """Return the length of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode())


def cut(text: str, limit_bytes: int) -> str:
    """Truncate a text to so many bytes, at the end of a character."""
    if len(text) <= limit_bytes and text.isascii():
        return text
    raw = text.encode()
    return text if len(raw) <= limit_bytes else raw[:limit_bytes].decode(errors="ignore")


def room_behind(source: str, command: str, *params: str) -> int:
    """Return how many bytes are left for the last parameter of a line (RFC 2812 section 2.3)."""
    return LINE_BYTES - len(format_line(command, *params, "", source=source).encode())


def is_number(text: str) -> bool:
    """Return whether a text is an ASCII number; str.isdigit() alone accepts the digits of all scripts."""
    return text.isascii() and text.isdigit()


def as_middle_param(param: str) -> str:
    """Return a client's parameter so that a reply can repeat it before its last parameter.

    It is truncated if it is too long, and `*` if it is empty, has spaces or starts with a colon.
    """
    return "*" if not param or param.startswith(":") or " " in param else cut(param, ECHOED_PARAM_BYTES)


def pack(words: Iterable[str], limit_bytes: int, separator: str = " ") -> Iterator[str]:
    """Join words into as few lines of at most so many bytes as possible."""
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
    """Split a text into fragments that fit in a line, as its sender did if `composition` says how."""
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
