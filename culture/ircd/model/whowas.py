"""Former users by nick, for WHOWAS."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from culture.ircd.model.user import User
from culture.names import Folded, fold

# The maximum number of entries; the oldest are evicted first.
MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class FormerUser:
    """A user as they were when they quit or changed the nick."""

    key: Folded
    nick: str
    username: str
    host: str
    realname: str
    until: float
    # As `User.server`.
    server: str


class Whowas:
    """A bounded list of former users."""

    def __init__(self) -> None:
        self._formers: deque[FormerUser] = deque(maxlen=MOST)

    def remember(self, user: User, at: float) -> None:
        """Add a user who quits or changes the nick."""
        who = (user.key, user.nick, user.username, user.host, user.realname)
        self._formers.appendleft(FormerUser(*who, at, user.server))

    def find(self, nick: str) -> list[FormerUser]:
        """Return everyone who had a nick, the latest first."""
        key = fold(nick)
        return [former for former in self._formers if former.key == key]
