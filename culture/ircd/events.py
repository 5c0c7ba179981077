"""What happened, as everyone learns it: the values that `Ircd.publish` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from culture.ircd.channel import Channel, Status, Topic
from culture.ircd.user import User
from culture.protocol.multiline import Fragment

SpeechCommand = Literal["PRIVMSG", "NOTICE", "TAGMSG"]


class Said(NamedTuple):
    """A message to a channel, or to one user. A tuple: a frozen dataclass takes thrice as long to make."""

    sender: User
    command: SpeechCommand
    target: Channel | User
    text: str
    tags: Mapping[str, str]
    mentioned: tuple[User, ...] = ()
    to: Status | None = None
    """In a channel, for those who stand as high as that; for all where there is none."""
    fragments: tuple[Fragment, ...] = ()
    """How a text of several lines was sent, which is how those read it who cannot read it whole."""


@dataclass(frozen=True, slots=True)
class Joined:
    user: User
    channel: Channel


@dataclass(frozen=True, slots=True)
class Parted:
    user: User
    channel: Channel
    reason: str


@dataclass(frozen=True, slots=True)
class Kicked:
    user: User
    channel: Channel
    kicked: User
    reason: str


@dataclass(frozen=True, slots=True)
class Invited:
    user: User
    channel: Channel
    invited: User


@dataclass(frozen=True, slots=True)
class Quit:
    user: User
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    user: User
    new_nick: str


@dataclass(frozen=True, slots=True)
class AwayChanged:
    """Away with these words, or back with none."""

    user: User
    away: str | None
    newcomer_to: Channel | None = None
    """The channel that hears of it because the user, who is away, just joined."""


@dataclass(frozen=True, slots=True)
class AccountChanged:
    """Logged in to this account, or out of it."""

    user: User
    account: str | None


@dataclass(frozen=True, slots=True)
class RealnameChanged:
    user: User
    realname: str


@dataclass(frozen=True, slots=True)
class HostChanged:
    """A user is somebody else behind the nick, or comes from elsewhere."""

    user: User
    username: str
    host: str


@dataclass(frozen=True, slots=True)
class ChannelRenamed:
    user: User
    channel: Channel
    new_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TopicChanged:
    user: User
    channel: Channel
    topic: Topic | None


@dataclass(frozen=True, slots=True)
class ModesChanged:
    """Changes that took effect, in the form of the wire: `+ov` and its parameters."""

    user: User
    channel: Channel
    changes: str
    params: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """A key of a user or a channel has this value now, or none any more."""

    user: User
    target: User | Channel
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class MarkerMoved:
    """A user has read a channel, or what a nick said, up to this time."""

    user: User
    target: str
    timestamp: str
    host: str
    """Where it was read."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A message was taken back, by who said it or by who looks after the channel."""

    user: User
    target: Channel | User | None
    """None: who it was written to is not here any more."""
    name: str
    msgid: str
    reason: str
    ends: tuple[str, str] | None = None
    """Of a direct message: who it is between, as `end_of` has it."""
    host: str = ""
    """Of a direct message: the host of who it was written to, where that is another one."""


Change = (
    Joined
    | Parted
    | Kicked
    | Invited
    | Quit
    | Renamed
    | AwayChanged
    | AccountChanged
    | RealnameChanged
    | HostChanged
    | ChannelRenamed
    | TopicChanged
    | ModesChanged
    | MetadataChanged
    | MarkerMoved
    | Redacted
)
"""What changes who is on the network, where, and as what."""

Event = Said | Change
