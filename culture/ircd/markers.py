"""How far everybody has read (IRCv3 draft/read-marker). Nobody learns it of somebody else."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from culture.ircd.user import User
from culture.names import Folded, fold

MOST: Final = 1000
"""How many channels and conversations are kept of one account; the first to go were not read for longest."""

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def is_timestamp(text: str) -> bool:
    """Whether this is a time in the one form in which later ones compare as greater (server-time)."""
    if _TIMESTAMP.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class Markers:
    def __init__(self) -> None:
        self.of_accounts: dict[Folded, dict[Folded, str]] = {}
        """Timestamps by channel or nick. They outlast the connections that moved them."""

    def of(self, user: User) -> Mapping[Folded, str]:
        """Of who is not logged in, they end with the connection."""
        return user.markers if user.account is None else self.of_accounts.get(fold(user.account), {})

    def move(self, user: User, target: str, timestamp: str) -> None:
        """Only ever forward."""
        of_one = user.markers
        if user.account is not None:
            of_one = self.of_accounts.setdefault(fold(user.account), {})
        _move(of_one, fold(target), timestamp)


def carry(of_one: dict[Folded, str], old: Folded, new: Folded) -> bool:
    """Whoever read a channel has read it under its new name. Whether they did.

    What is said under the old one from now on is later than the marker, which may stay there.
    """
    timestamp = of_one.get(old)
    if timestamp is not None:
        _move(of_one, new, timestamp)
    return timestamp is not None


def _move(of_one: dict[Folded, str], key: Folded, timestamp: str) -> None:
    # Put in anew, so that the first is the one that was not moved for longest.
    before = of_one.pop(key, timestamp)
    of_one[key] = max(before, timestamp)
    if len(of_one) > MOST:
        del of_one[next(iter(of_one))]
