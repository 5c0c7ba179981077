"""The events of the server: messages and changes, which `Ircd.publish` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from culture.ircd.model.channel import Channel, Status, Topic
from culture.ircd.model.user import User
from culture.protocol.multiline import Fragment
from culture.protocol.parties import Party

SpeechCommand = Literal["PRIVMSG", "NOTICE", "TAGMSG"]


class Said(NamedTuple):
    """A message to a channel or a user. A tuple: a frozen dataclass takes three times as long to make."""

    sender: User
    command: SpeechCommand
    target: Channel | User
    text: str
    tags: Mapping[str, str]
    mentioned: tuple[User, ...] = ()
    # The lowest status of members who get the message; None for all members.
    to: Status | None = None
    # The lines of a multiline message as they were sent, for clients without multiline.
    fragments: tuple[Fragment, ...] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """A user joined a channel."""

    user: User
    channel: Channel


@dataclass(frozen=True, slots=True)
class Parted:
    """A user left a channel."""

    user: User
    channel: Channel
    reason: str


@dataclass(frozen=True, slots=True)
class Kicked:
    """A user kicked another from a channel."""

    user: User
    channel: Channel
    kicked: User
    reason: str


@dataclass(frozen=True, slots=True)
class Invited:
    """A user invited another to a channel."""

    user: User
    channel: Channel
    invited: User


@dataclass(frozen=True, slots=True)
class Quit:
    """A user left the network."""

    user: User
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """A user changed the nick."""

    user: User
    new_nick: str


@dataclass(frozen=True, slots=True)
class AwayChanged:
    """A user is away with a message, or back if it is None."""

    user: User
    away: str | None
    # The channel that a user who is away just joined; only its members are told.
    newcomer_to: Channel | None = None


@dataclass(frozen=True, slots=True)
class AccountChanged:
    """A user logged in to an account, or out if it is None."""

    user: User
    account: str | None


@dataclass(frozen=True, slots=True)
class RealnameChanged:
    """The realname of a user changed."""

    user: User
    realname: str


@dataclass(frozen=True, slots=True)
class HostChanged:
    """The username or host of a user changed."""

    user: User
    username: str
    host: str


@dataclass(frozen=True, slots=True)
class ChannelRenamed:
    """A channel was renamed."""

    user: User
    channel: Channel
    new_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TopicChanged:
    """The topic of a channel changed."""

    user: User
    channel: Channel
    topic: Topic | None


@dataclass(frozen=True, slots=True)
class ModesChanged:
    """Channel modes changed, in the form of the wire: `+ov` and its parameters."""

    user: User
    channel: Channel
    changes: str
    params: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """A metadata key of a user or channel was set, or removed if the value is None."""

    user: User
    target: User | Channel
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class MarkerMoved:
    """A user moved the read marker of a channel or nick."""

    user: User
    target: str
    timestamp: str
    # The host where the marker was moved.
    host: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A message was redacted by its sender or by a channel operator."""

    user: User
    # None: the recipient is no longer online.
    target: Channel | User | None
    name: str
    msgid: str
    reason: str
    # Of a direct message: the user who redacts it, and the other party.
    ends: tuple[Party, Party] | None = None
    # Of a direct message: the host of the recipient, if it is another one.
    host: str = ""


# Events that change the state of the network.
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

Event = Said | Change
