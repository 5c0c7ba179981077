"""What a client is told: one frozen value for each thing that happened on the network."""

from collections.abc import Mapping
from dataclasses import dataclass


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
    text: str
    is_notice: bool
    # A server speaks too; it has no user and no host.
    is_from_server: bool
    # Whom the server says the text calls; None where it does not say.
    mentions: tuple[str, ...] | None
    # As the server stamped it (server-time); None where it does not.
    time: str | None
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Joined:
    nick: str
    channel: str


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
class Answered:
    """The server answered our PING: everything sent before it was dealt with."""

    token: str


Event = Registered | Said | Joined | Left | Renamed | Refused | Answered
