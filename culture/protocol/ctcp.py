"""Recognise CTCP messages, which are wrapped in bytes 0x01."""

from typing import Final

_MARK: Final = "\x01"
ACTION: Final = f"{_MARK}ACTION "


def is_request(text: str) -> bool:
    """Return whether a text is a CTCP request or reply between programs; ACTION (`/me`) is for people."""
    return text.startswith(_MARK) and not text.startswith(ACTION)
