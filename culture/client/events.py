"""What a client is told: one frozen value for each thing that happened on the network."""

from collections.abc import Mapping
from dataclasses import dataclass

from culture.names import fold
from culture.protocol.line import Line
from culture.protocol.mentions import is_mentioned


@dataclass(frozen=True, slots=True)
class Registered:
    """The server took us in, under this nick."""

    nick: str
    server: str


@dataclass(frozen=True, slots=True)
class Said:
    """A PRIVMSG or a NOTICE, to a channel or to us."""

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
        """Empty where the server gives its messages no ids."""
        return self.tags.get("msgid", "")

    def calls(self, nick: str) -> bool:
        """The server knows better than the text, where it says: it has seen who has which nick."""
        if self.mentions is None:
            return is_mentioned(self.text, nick)
        return fold(nick) in map(fold, self.mentions)


@dataclass(frozen=True, slots=True)
class Echoed:
    """What we said, as the server passed it on (echo-message)."""

    target: str
    text: str
    msgid: str
    is_notice: bool = False
    # As the server stamped it; None where it does not.
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was said in a channel, or with a nick, as history has it: the answer to CHATHISTORY."""

    target: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    nick: str
    channel: str
    # As the server stamped it; None where it does not.
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """Somebody is no longer in a channel: parted, kicked, or gone from the network."""

    nick: str
    channel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The server turned down something we asked for, after registration."""

    numeric: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The same, where a word says why and not a number (IRCv3 standard-replies)."""

    command: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A line that answers a question, for whoever asked it."""

    line: Line


@dataclass(frozen=True, slots=True)
class Answered:
    """The server answered our PING: everything sent before it was dealt with."""

    token: str


Event = Registered | Said | Echoed | Replayed | Joined | Left | Renamed | Refused | Failed | Told | Answered
