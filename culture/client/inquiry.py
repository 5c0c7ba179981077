"""Queries about channels, users and history, and the parsing of their replies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from culture.client.client import Client
from culture.client.events import Event, Failed, Refused, Replayed, Told
from culture.errors import CultureError, UnavailableError
from culture.protocol import numerics
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line

_AWAY: Final = "G"
# What stands for rights in a channel among the flags of WHO, whichever of them a server has.
_PREFIXES: Final = "~&@%+"


@dataclass(frozen=True, slots=True)
class Member:
    """One row of a WHO reply."""

    nick: str
    # `@` for an operator, `+` for who may speak, and the like; empty outside of channels.
    modes: str
    is_away: bool
    # An operator of the server.
    is_operator: bool
    real_name: str


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a channel and who set it."""

    # Empty: there is none.
    text: str
    # Empty, where the server does not tell.
    set_by: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """A message from the server's history."""

    target: str
    nick: str
    time: str
    text: str


async def who(client: Client, target: str) -> list[Member]:
    """Return the members of a channel, or the user with a nick (RFC 2812 section 3.6.1)."""
    answers = await client.ask("WHO", target)
    members = [_member(line) for line in _lines(answers, numerics.RPL_WHOREPLY)]
    if not members:
        raise _objection(answers) or UnavailableError(f"'{target}': there is nobody")
    return members


async def topic(client: Client, channel: str) -> Topic:
    """Return the topic of a channel."""
    return _topic(await client.ask("TOPIC", channel))


async def set_topic(client: Client, channel: str, text: str) -> None:
    """Set the topic of a channel. Raise CultureError if the server refuses."""
    error = _objection(await client.ask("TOPIC", channel, text, trailing=True))
    if error is not None:
        raise error


async def recent(client: Client, target: str, limit: int) -> list[Remembered]:
    """Return the last messages of a conversation, the oldest first."""
    if client.can(Cap.CHATHISTORY):
        answers = await client.ask("CHATHISTORY", "LATEST", target, "*", str(limit))
        return _replayed(answers)
    return _remembered(await client.ask("HISTORY", "RECENT", target, str(limit)))


async def search(client: Client, target: str, query: str) -> list[Remembered]:
    """Return messages that match a text, the best match first.

    The target `*` searches every conversation that the client may read.
    """
    return _remembered(await client.ask("HISTORY", "SEARCH", target, query, trailing=True))


def _member(line: Line) -> Member:
    # channel, user, host, server, nick, flags, hops and real name
    flags = line.param(6)
    return Member(
        nick=line.param(5),
        modes="".join(flag for flag in flags if flag in _PREFIXES),
        is_away=flags.startswith(_AWAY),
        is_operator="*" in flags,
        real_name=line.param(7).partition(" ")[2],
    )


def _topic(answers: Sequence[Event]) -> Topic:
    texts = [line.param(2) for line in _lines(answers, numerics.RPL_TOPIC)]
    setters = [line.param(2).partition("!")[0] for line in _lines(answers, numerics.RPL_TOPICWHOTIME)]
    if not texts and not any(_lines(answers, numerics.RPL_NOTOPIC)):
        raise _objection(answers) or UnavailableError("the server does not tell its topic")
    return Topic("".join(texts[:1]), "".join(setters[:1]))


def _replayed(answers: Sequence[Event]) -> list[Remembered]:
    found = [answer for answer in answers if isinstance(answer, Replayed)]
    if not found:
        raise _objection(answers) or UnavailableError("the server told no history")
    return [
        Remembered(replayed.target, said.sender, said.time or "", said.text)
        for replayed in found
        for said in replayed.said
    ]


def _remembered(answers: Sequence[Event]) -> list[Remembered]:
    error = _objection(answers)
    if error is not None:
        raise error
    return [Remembered(*line.params[:4]) for line in _lines(answers, "HISTORY") if len(line.params) > 3]


def _lines(answers: Iterable[Event], command: str) -> Iterable[Line]:
    return (each.line for each in answers if isinstance(each, Told) and each.line.command == command)


def _objection(answers: Iterable[Event]) -> CultureError | None:
    for answer in answers:
        match answer:
            case Refused(numerics.ERR_UNKNOWNCOMMAND, "HISTORY", _):
                return UnavailableError("this server has no history that could be asked")
            case Refused(_, about, text):
                return UnavailableError(f"'{about}': {text}")
            case Failed(_, _, text):
                return UnavailableError(text)
    return None
