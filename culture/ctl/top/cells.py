"""Fit text of others into a number of terminal cells, whatever characters it has."""

import unicodedata
from typing import Final

from culture.protocol.plain_text import neutral

ELLIPSIS: Final = "…"
# More combining marks on one character would paint over the lines above and below it.
_MOST_MARKS: Final = 2
_WIDE: Final = frozenset("WF")
# Enabled presentation of emoji changes the width on some terminals only.
_VARIATION: Final = range(0xFE00, 0xFE10)
_NOT_SHOWN: Final = frozenset({"Cn", "Co"})


def clean(text: str) -> str:
    """Return the text as one line in which the width of each character is known."""
    kept: list[str] = []
    marks = 0
    for char in neutral(" ".join(text.split())):
        # Most text is ASCII.
        if char.isascii():
            marks = 0
            kept.append(char)
            continue
        category = unicodedata.category(char)
        if category == "Cf" or ord(char) in _VARIATION:
            continue
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS:
            kept.append("\N{REPLACEMENT CHARACTER}" if category in _NOT_SHOWN else char)
    return unicodedata.normalize("NFC", "".join(kept))


def width(text: str) -> int:
    """Return how many cells a cleaned text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def fit(text: str, cells: int) -> str:
    """Return a cleaned text that takes exactly this many cells: cut with an ellipsis, or filled up."""
    cut = shorten(text, cells)
    return cut + " " * (cells - width(cut))


def shorten(text: str, cells: int) -> str:
    """Return a cleaned text that takes at most this many cells."""
    if width(text) <= cells:
        return text
    return head(text, cells - 1) + ELLIPSIS if cells > 0 else ""


def head(text: str, cells: int) -> str:
    """Return as many characters from the beginning as these cells hold."""
    used = 0
    for index, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:index]
    return text


def tail(text: str, cells: int) -> str:
    """Return as many characters from the end as these cells hold."""
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += _cells(text[index])
        if used > cells:
            return text[index + 1 :]
    return text


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1
