"""Who was here: nicks that were given up, for WHOWAS."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from culture.ircd.user import User
from culture.names import Folded, fold

MOST: Final = 1000
"""How many are remembered; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Former:
    """Somebody as they were when they left, or took another nick."""

    key: Folded
    nick: str
    username: str
    host: str
    realname: str
    until: float
    server: str
    """As `User.server`."""


class Past:
    def __init__(self) -> None:
        self._formers: deque[Former] = deque(maxlen=MOST)

    def remember(self, user: User, at: float) -> None:
        who = (user.key, user.nick, user.username, user.host, user.realname)
        self._formers.appendleft(Former(*who, at, user.server))

    def find(self, nick: str) -> list[Former]:
        """Everyone who had a nick, the latest first."""
        key = fold(nick)
        return [former for former in self._formers if former.key == key]
