"""CTCP: what clients ask each other between two bytes 1, and what somebody does (`/me`)."""

from typing import Final

_MARK: Final = "\x01"
ACTION: Final = f"{_MARK}ACTION "


def is_request(text: str) -> bool:
    """Whether it is for a program, or from one: a person reads what somebody does, and nothing else of it."""
    return text.startswith(_MARK) and not text.startswith(ACTION)
