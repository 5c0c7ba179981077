"""Read markers of users and accounts, which only they see (IRCv3 draft/read-marker)."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from culture.ircd.model.user import User
from culture.names import Folded, fold

# The maximum number of markers of one account; those moved longest ago are evicted.
MOST: Final = 1000

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def is_timestamp(text: str) -> bool:
    """Return whether a text is a server-time timestamp; these sort by time."""
    if _TIMESTAMP.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class ReadMarkers:
    """The read markers of accounts, and access to those of users without one."""

    def __init__(self) -> None:
        # Timestamps by channel or nick. They outlast the connections that moved them.
        self.of_accounts: dict[Folded, dict[Folded, str]] = {}

    def of(self, user: User) -> Mapping[Folded, str]:
        """Return the markers of a user. Without an account they end with the connection."""
        return user.markers if user.account is None else self.of_accounts.get(fold(user.account), {})

    def move(self, user: User, target: str, timestamp: str) -> None:
        """Move a marker forward; an earlier timestamp changes nothing."""
        of_one = user.markers
        if user.account is not None:
            of_one = self.of_accounts.setdefault(fold(user.account), {})
        _move(of_one, fold(target), timestamp)


def carry(of_one: dict[Folded, str], old: Folded, new: Folded) -> bool:
    """Copy a marker to the new name of a channel and return whether there was one.

    The marker under the old name stays: later messages there are newer than it.
    """
    timestamp = of_one.get(old)
    if timestamp is not None:
        _move(of_one, new, timestamp)
    return timestamp is not None


def _move(of_one: dict[Folded, str], key: Folded, timestamp: str) -> None:
    # Insert again, so that the dict is ordered by the last move.
    before = of_one.pop(key, timestamp)
    of_one[key] = max(before, timestamp)
    if len(of_one) > MOST:
        del of_one[next(iter(of_one))]
