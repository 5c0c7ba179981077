"""Validate whole events from other hosts: target, parameters and text of each command."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from culture.names import SIGNS
from culture.protocol.event_record import CROSSING, SEEN, SOURCE_LENGTH, SPOKEN, STAMP_TAG, EventRecord
from culture.protocol.line import MalformedLine
from culture.protocol.peers import validate

_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\x85\u2028\u2029]")
_NOT_IN_LINES: Final = re.compile(r"[\r\0]")

# Events whose text may have several lines.
_OF_LINES: Final = frozenset({"PRIVMSG", "NOTICE", "KNOWN", "MEMBERS"})
_IN_CHANNEL: Final = frozenset(
    {"ENTER", "INVITE", "JOIN", "KICK", "KNOWN", "LEFT", "MEMBERS", "MODE", "PART", "RENAME", "TOPIC"}
)
# Events that a host causes itself; no user does.
_OF_HOSTS: Final = frozenset({"HALT", "KNOWN", "MEMBERS"})
_ANYWHERE: Final = SPOKEN | {"REDACT", "META"}
# The least and greatest number of parameters between target and text.
_PARAMS: Final[Mapping[str, tuple[int, int]]] = {
    "CHGHOST": (2, 2),
    "ENTER": (3, 3),
    "HALT": (3, 3),
    "INVITE": (1, 1),
    "KICK": (1, 1),
    "LEFT": (0, 1),
    "MEMBERS": (2, 2),
    "META": (2, 2),
    "MODE": (1, validate.PARAMS),
    "REDACT": (1, 1),
    "RENAME": (1, 1),
    "USER": (2, 3),
}


def check_event(record: EventRecord) -> None:
    """Check everything about an event that does not depend on the server's state. Raise MalformedLine."""
    command = record.command
    if command not in CROSSING:
        raise validate.refuse("not an event", command)
    validate.host_name(record.origin)
    validate.source(record.source, record.origin)
    is_of_host = record.source.startswith(validate.HOST_ITSELF)
    if is_of_host and command not in _OF_HOSTS:
        raise validate.refuse(f"{command} of nobody", record.source)
    if command == "HALT" and not is_of_host:
        raise validate.refuse("HALT of a user", record.source)
    if record.account is not None:
        validate.account(record.account)
    if (
        len(record.id) > validate.ID_LENGTH
        or _CONTROL.search(record.id)
        or ";" in record.id
        or record.id.startswith(":")
    ):
        raise validate.refuse("not the id of a message", record.id)
    if not record.id and command in SPOKEN | SEEN:
        raise MalformedLine(f"{command} without an id")
    if record.to:
        validate.host_name(record.to)
    _check_target(record)
    _check_text(record)
    _check_params(record)
    validate.message_tags(record.tags, record.origin)
    if len(record.channels) > validate.CHANNELS:
        raise MalformedLine(f"{command} in more than {validate.CHANNELS} channels")
    for name, _ in record.channels:
        validate.channel(name)
    if record.channels and (record.command not in ("QUIT", "NICK") or record.target):
        raise MalformedLine(f"{command} in several channels")
    if bool(record.to) != (record.ends is not None):
        raise MalformedLine(f"{command} to one user without its two ends")


def _check_target(record: EventRecord) -> None:
    if record.command in _IN_CHANNEL:
        validate.channel(record.target)
    elif record.command in _ANYWHERE:
        name = record.target.lstrip(SIGNS)
        if name.startswith("#"):
            validate.channel(name)
        else:
            validate.any_nick(record.target)
    elif record.command == "KILL":
        validate.any_nick(record.target)
    elif record.target:
        raise validate.refuse(f"{record.command} has no target", record.target)
    if record.to and (
        record.command not in SPOKEN | {"REDACT"} or record.target.lstrip(SIGNS).startswith("#")
    ):
        raise MalformedLine(f"{record.command} is not for one user alone")


def _check_text(record: EventRecord) -> None:
    text = record.text
    match record.command:
        case "NICK" | "NAMED":
            validate.nick(text, record.origin)
        case "ACCOUNT":
            if text:
                validate.account(text)
        case "UMODE":
            validate.mode_letters(text)
        case command if command in _OF_LINES:
            if _NOT_IN_LINES.search(text):
                raise MalformedLine(f"{command} with a CR or a NUL")
        case _:
            validate.text_line(text)


def _check_params(record: EventRecord) -> None:
    least, most = _PARAMS.get(record.command, (0, 0))
    if not least <= len(record.params) <= most:
        raise MalformedLine(f"{record.command} with {len(record.params)} parameters")
    for each in record.params:
        validate.word(each)
    if (check := _PARAM_CHECKS.get(record.command)) is not None:
        check(record)


def _check_user(record: EventRecord) -> None:
    validate.time_ms(record.params[0])
    validate.mode_letters(record.params[1].removeprefix("+"))
    validate.session_id(*record.params[2:])


def _check_enter(record: EventRecord) -> None:
    validate.time_ms(record.params[0])
    validate.time_and_host(record.params[2])


def _check_halt(record: EventRecord) -> None:
    sign, stamp, by = record.params
    check_halt(sign, stamp, by, record.text)


def check_halt(sign: str, stamp: str, by: str, why: str) -> None:
    """Check the fields of a halt, in an event or in a snapshot. Raise MalformedLine."""
    if sign not in ("+", "-"):
        raise validate.refuse("HALT neither begins nor ends", sign)
    validate.time_and_host(stamp)
    if not by or by.startswith(":"):
        raise validate.refuse("HALT by nobody", by)
    validate.word(by, validate.NICK_LENGTH)
    validate.text_line(why)


def _check_chghost(record: EventRecord) -> None:
    validate.user_name(record.params[0])
    validate.address(record.params[1])
    if (
        len(record.source.partition("!")[0]) + len(record.params[0]) + len(record.params[1]) + 2
        > SOURCE_LENGTH
    ):
        raise validate.refuse("not the address of a user", record.params[1])


def _check_meta(record: EventRecord) -> None:
    if record.params[1] not in ("+", "-"):
        raise validate.refuse("META neither sets nor removes", record.params[1])


def _check_members(record: EventRecord) -> None:
    for each in record.params:
        if each:
            validate.any_nick(each)


_PARAM_CHECKS: Final[Mapping[str, Callable[[EventRecord], None]]] = {
    "CHGHOST": _check_chghost,
    "ENTER": _check_enter,
    "HALT": _check_halt,
    "INVITE": lambda record: _void(validate.any_nick(record.params[0])),
    "KICK": lambda record: _void(validate.any_nick(record.params[0])),
    "MEMBERS": _check_members,
    "META": _check_meta,
    "RENAME": lambda record: _void(validate.channel(record.params[0])),
    "USER": _check_user,
}


def _void(_: object) -> None:
    """Discard a value that was parsed only to check it."""


def check_event_times(record: EventRecord, now: float) -> None:
    """Raise ImplausibleTimeError if the time or stamp of an event is too far ahead of our clock."""
    validate.by_now(int(record.at * 1000), now)
    if STAMP_TAG in record.tags:
        validate.by_now(int(record.tags[STAMP_TAG]), now)
    if record.command == "HALT":
        validate.by_now(validate.time_and_host(record.params[1])[0], now)
    if record.command == "ENTER":
        validate.by_now(int(record.params[0]), now)
        validate.by_now(validate.time_and_host(record.params[2])[0], now)
