"""Whether two messages say nearly the same."""

import re
from difflib import SequenceMatcher
from typing import Final

# How much of two texts has to be the same.
LIKENESS: Final = 0.9
_LONGEST: Final = 500
_NUMBER: Final = re.compile(r"[0-9]+")
_SPACE: Final = re.compile(r"\s+")


def is_alike(one: str, other: str) -> bool:
    """Return whether two texts are nearly the same: apart from case and spacing, and with the same numbers.

    `41 % done` and `42 % done` are not: something goes on.
    """
    first, second = _plain(one), _plain(other)
    if _NUMBER.findall(first) != _NUMBER.findall(second):
        return False
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.real_quick_ratio() >= LIKENESS and matcher.ratio() >= LIKENESS


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text.casefold()).strip()[:_LONGEST]
