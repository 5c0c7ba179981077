"""Recognise that a backend is not logged in, and name the command that logs it in."""

import re
from typing import Final

UNAUTHORIZED: Final = 401
# What the backends' own programs say.
_NOT_LOGGED_IN: Final = re.compile(r"not logged in|/login\b|\blog in\b|authenticat|api key", re.IGNORECASE)
# Claude Code names a command that exists only in its own terminal.
_OF_A_TERMINAL: Final = re.compile(r"\s*·?\s*please run /login", re.IGNORECASE)


def is_login_missing(error: str) -> bool:
    """Return whether a backend says that it has no login."""
    return _NOT_LOGGED_IN.search(error) is not None


def with_login_command(error: str, nick: str) -> str:
    return f"{_OF_A_TERMINAL.sub('', error)}: culturectl login {nick}"
