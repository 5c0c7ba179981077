"""What happened, as everyone learns it: the values that `Ircd.publish` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from culture.ircd.channel import Channel, Topic
from culture.ircd.user import User

SpeechCommand = Literal["PRIVMSG", "NOTICE", "TAGMSG"]


@dataclass(frozen=True, slots=True)
class Said:
    """A message to a channel, or to one user."""

    sender: User
    command: SpeechCommand
    target: Channel | User
    text: str
    tags: Mapping[str, str]
    mentioned: tuple[User, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Joined:
    user: User
    channel: Channel
    at: float


@dataclass(frozen=True, slots=True)
class Parted:
    user: User
    channel: Channel
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Quit:
    user: User
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Renamed:
    user: User
    new_nick: str
    at: float


@dataclass(frozen=True, slots=True)
class TopicChanged:
    user: User
    channel: Channel
    topic: Topic | None
    at: float


@dataclass(frozen=True, slots=True)
class ModesChanged:
    """Changes that took effect, in the form of the wire: `+ov` and its parameters."""

    user: User
    channel: Channel
    changes: str
    params: tuple[str, ...]
    at: float


Event = Said | Joined | Parted | Quit | Renamed | TopicChanged | ModesChanged
