"""Events of an IRC client, one frozen class for each kind of thing that happens on the network."""

from collections.abc import Mapping
from dataclasses import dataclass

from culture.names import fold
from culture.protocol.line import Line
from culture.protocol.mentions import is_mentioned


@dataclass(frozen=True, slots=True)
class Registered:
    """The server has accepted the client under this nick."""

    nick: str
    server: str


@dataclass(frozen=True, slots=True)
class Said:
    """A PRIVMSG or NOTICE to a channel or to the client."""

    sender: str
    # The channel it was said in; None for a direct message.
    channel: str | None
    # With line ends in it, if it was sent as one message of several lines.
    text: str
    is_notice: bool
    # A server speaks too; it has no user and no host.
    is_from_server: bool
    # Whom the server says the text calls; None where it does not say.
    mentions: tuple[str, ...] | None
    # As the server stamped it (server-time); None where it does not.
    time: str | None
    tags: Mapping[str, str]

    @property
    def msgid(self) -> str:
        """Return the message id; empty if the server assigns none."""
        return self.tags.get("msgid", "")

    def calls(self, nick: str) -> bool:
        """Return whether the message mentions a nick. The server's own tag counts, if there is one."""
        if self.mentions is None:
            return is_mentioned(self.text, nick)
        return fold(nick) in map(fold, self.mentions)


@dataclass(frozen=True, slots=True)
class Echoed:
    """A message of the client's own, as the server delivered it (echo-message)."""

    target: str
    text: str
    msgid: str
    is_notice: bool = False
    # As the server stamped it; None where it does not.
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Messages from the server's history of one conversation, the reply to CHATHISTORY."""

    target: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """A user, possibly the client itself, has joined a channel."""

    nick: str
    channel: str
    # As the server stamped it; None where it does not.
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """A user has left a channel by PART, KICK or QUIT."""

    nick: str
    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """A user has changed nick."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The server refused a command with a numeric reply, after registration."""

    numeric: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The server refused a command with a FAIL and a code (IRCv3 standard-replies)."""

    command: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class HaltChanged:
    """The server says whether agents are halted (agentirc.dev/halt)."""

    is_halted: bool
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A line that replies to a query."""

    line: Line


@dataclass(frozen=True, slots=True)
class Answered:
    """The server answered a PING, so it has processed everything before it."""

    token: str


Event = (
    Registered
    | Said
    | Echoed
    | Replayed
    | Joined
    | Left
    | Renamed
    | Refused
    | Failed
    | HaltChanged
    | Told
    | Answered
)
