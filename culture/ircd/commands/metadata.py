"""METADATA: what users and channels publish of themselves (IRCv3 draft/metadata-2)."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.failures import Failure
from culture.ircd.metadata import EVERYONE, Target, is_key, name_of, value_bytes
from culture.ircd.publishing import (
    has_room,
    messages,
    messages_in,
    publish_value,
    send_subscribed,
    values_of,
)
from culture.ircd.refusal import need_more_params
from culture.ircd.replies import send_batch
from culture.ircd.session import Phase, Session
from culture.ircd.text import pack, size
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    RPL_KEYNOTSET,
    RPL_KEYVALUE,
    RPL_METADATASUBOK,
    RPL_METADATASUBS,
    RPL_METADATAUNSUBOK,
)

ONESELF: Final = "*"
ALL_KEYS: Final = "*"
MINUTE_S: Final = 60
KEYS_PER_LINE: Final = 12
"""A line has fifteen parameters at most (RFC 2812 section 2.3)."""


def metadata(ircd: Ircd, session: Session, line: Line) -> None:
    target, subcommand, *params = line.params
    answer = _SUBCOMMANDS.get(subcommand.upper())
    if answer is None:
        raise Failure("SUBCOMMAND_INVALID", subcommand, text="There is no such subcommand of METADATA")
    answer(ircd, session, target, params)


# What can be asked.


def _get(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> None:
    target = _find(ircd, session, name)
    values = values_of(ircd, target)

    def answer(key: str) -> str:
        if not is_key(key):
            return _invalid(key).line("METADATA", ircd.name)
        return _told(ircd, session, target, key, values.get(key))

    send_batch(ircd, session, f"metadata {name_of(target)}", map(answer, _required(keys)))


def _list(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    target = _find(ircd, session, name)
    lines = (_told(ircd, session, target, *item) for item in values_of(ircd, target).items())
    send_batch(ircd, session, f"metadata {name_of(target)}", lines)


def _set(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    key = _required(params)[0]
    value = params[1] if len(params) > 1 else None
    target = _find(ircd, session, name)
    _check(ircd, session, target, key, value)
    before = values_of(ircd, target).get(key)
    if value is None and before is None:
        raise Failure("KEY_NOT_SET", name_of(target), key, text="The key is not set")
    _count_change(ircd, session, target, key)
    if value != before:
        publish_value(ircd, session.user, target, key, value)
    ircd.send(session, _told(ircd, session, target, key, value))


def _clear(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    target = _find(ircd, session, name)
    _check_permission(session, target, ALL_KEYS)
    _count_change(ircd, session, target, ALL_KEYS)
    keys = list(values_of(ircd, target))
    for key in keys:
        publish_value(ircd, session.user, target, key, None)
    lines = (_told(ircd, session, target, key, None) for key in keys)
    send_batch(ircd, session, f"metadata {name_of(target)}", lines)


def _sync(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    target = _find(ircd, session, name)
    if isinstance(target, Channel):
        lines = messages_in(ircd, session, target)
    else:
        lines = messages(ircd, target, ircd.state.metadata.of(target), sorted(session.subscriptions))
    send_batch(ircd, session, f"metadata {name_of(target)}", lines)


def _sub(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> None:
    """Keys in order, and what they are now where they are new to the client."""
    _require_oneself(ircd, session, name)
    most, before = ircd.limits.metadata_subscriptions, session.subscriptions
    subscribed = []
    for key in _required(keys):
        if 0 < most <= len(session.subscriptions):
            _send_failure(
                ircd, session, Failure("TOO_MANY_SUBS", key, text="You are subscribed to too many keys")
            )
            break
        if is_key(key):
            session.subscriptions |= {key}
            subscribed.append(key)
        else:
            _send_failure(ircd, session, _invalid(key))
    _send_keys(ircd, session, RPL_METADATASUBOK, subscribed)
    send_subscribed(ircd, session, session.subscriptions - before)


def _unsub(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> None:
    _require_oneself(ircd, session, name)
    for key in _required(keys):
        if not is_key(key):
            _send_failure(ircd, session, _invalid(key))
    session.subscriptions -= set(keys)
    _send_keys(ircd, session, RPL_METADATAUNSUBOK, filter(is_key, keys))


def _subs(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    _require_oneself(ircd, session, name)
    lines = _key_lines(ircd, session, RPL_METADATASUBS, sorted(session.subscriptions))
    send_batch(ircd, session, "metadata-subs", lines)


_SUBCOMMANDS: Final[dict[str, Callable[[Ircd, Session, str, Sequence[str]], None]]] = {
    "CLEAR": _clear,
    "GET": _get,
    "LIST": _list,
    "SET": _set,
    "SUB": _sub,
    "SUBS": _subs,
    "SYNC": _sync,
    "UNSUB": _unsub,
}

# What is allowed.


def _find(ircd: Ircd, session: Session, name: str) -> Target:
    """Before registration there is nobody but oneself."""
    if name == ONESELF:
        return session.user
    if session.phase is Phase.REGISTERED:
        channel = ircd.state.find_channel(name)
        if channel is not None and channel.is_visible_to(session.user):
            return channel
        if (user := ircd.state.find_user(name)) is not None:
            return user
    raise Failure("INVALID_TARGET", name, text="There is no such channel or nick")


def _required(keys: Sequence[str]) -> Sequence[str]:
    if not keys:
        raise need_more_params("METADATA")
    return keys


def _require_oneself(ircd: Ircd, session: Session, name: str) -> None:
    if _find(ircd, session, name) is not session.user:
        raise Failure("INVALID_TARGET", name, text="Subscriptions are one's own")


def _check(ircd: Ircd, session: Session, target: Target, key: str, value: str | None) -> None:
    if not is_key(key):
        raise _invalid(key)
    _check_permission(session, target, key)
    if value is None:
        return
    if size(value) > (room := value_bytes(ircd.limits)):
        raise Failure("VALUE_INVALID", text=f"The value is too long: it may have {room} bytes")
    if not has_room(ircd, target, key):
        raise Failure("LIMIT_REACHED", name_of(target), text="There are too many keys already")


def _check_permission(session: Session, target: Target, key: str) -> None:
    user = session.user
    if not (target.may_moderate(user) if isinstance(target, Channel) else target is user):
        raise Failure("KEY_NO_PERMISSION", name_of(target), key, text="That is not yours to change")


def _count_change(ircd: Ircd, session: Session, target: Target, key: str) -> None:
    """Each is told to all who follow the user or channel."""
    now, most = ircd.timer(), ircd.limits.metadata_changes_per_min
    if now - session.metadata_since >= MINUTE_S:
        session.metadata_since, session.metadata_changes = now, 0
    if 0 < most <= session.metadata_changes:
        wait_s = math.ceil(session.metadata_since + MINUTE_S - now)
        raise Failure(
            "RATE_LIMITED", name_of(target), key, str(wait_s), text="Too many changes; try again later"
        )
    session.metadata_changes += 1


# What is told.


def _invalid(key: str) -> Failure:
    return Failure("KEY_INVALID", key, text="A key has only lower-case letters, digits and _ . / -")


def _send_failure(ircd: Ircd, session: Session, failure: Failure) -> None:
    ircd.send(session, failure.line("METADATA", ircd.name))


def _told(ircd: Ircd, session: Session, target: Target, key: str, value: str | None) -> str:
    """A value, or that there is none, in answer to a question."""
    nick, name = session.user.nick, name_of(target)
    if value is None:
        return format_line(RPL_KEYNOTSET, nick, name, key, "key not set", source=ircd.name, trailing=True)
    return format_line(RPL_KEYVALUE, nick, name, key, EVERYONE, value, source=ircd.name, trailing=True)


def _key_lines(ircd: Ircd, session: Session, numeric: str, keys: Iterable[str]) -> Iterator[str]:
    for line in pack(keys, ircd.room_for(session, numeric)):
        words = line.split(" ")
        for start in range(0, len(words), KEYS_PER_LINE):
            some = words[start : start + KEYS_PER_LINE]
            yield format_line(numeric, session.user.nick, *some, source=ircd.name)


def _send_keys(ircd: Ircd, session: Session, numeric: str, keys: Iterable[str]) -> None:
    for line in _key_lines(ircd, session, numeric, keys):
        ircd.send(session, line)
