"""METADATA: keys and values that users and channels publish (IRCv3 draft/metadata-3)."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from culture.ircd.delivery.batches import send_batch
from culture.ircd.delivery.metadata_push import (
    EVERYTHING,
    has_room,
    publish_value,
    send_subscribed,
    send_synced,
    values_of,
)
from culture.ircd.delivery.text import pack, size
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel
from culture.ircd.model.metadata import KEY_BYTES, Target, is_key, name_of, value_bytes, value_line
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.ircd.slices import Steps
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_METADATARATELIMIT,
    RPL_METADATASUBOK,
    RPL_METADATASUBS,
    RPL_METADATAUNSUBOK,
)

ONESELF: Final = "*"
ALL_KEYS: Final = "*"
MINUTE_S: Final = 60
# A line has fifteen parameters at most (RFC 2812 section 2.3).
KEYS_PER_LINE: Final = 12


def metadata(ircd: Ircd, session: Session, line: Line) -> Steps | None:
    """Run the subcommand."""
    target, name, *params = (*line.params, "", "")[: max(2, len(line.params))]
    subcommand = _SUBCOMMANDS.get(name.upper())
    if subcommand is None:
        text = f"Unknown subcommand '{name}'" if name else "Not enough parameters"
        raise Failure("INVALID_PARAMS", name, text=text)
    if not subcommand.least <= len(params) <= subcommand.most:
        text = "Too many parameters" if params else "Not enough parameters"
        raise Failure("INVALID_PARAMS", name.upper(), text=text)
    return subcommand.answer(ircd, session, target, params)


# Subcommands.


def _get(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> None:
    target = _find_readable(ircd, session, name)
    values = values_of(ircd, target)

    def answer(key: str) -> str:
        if not is_key(key):
            return _invalid(key).line("METADATA", ircd.name, "WARN")
        return value_line(ircd.name, session.user.nick, target, key, values.get(key))

    send_batch(ircd, session, f"metadata {name_of(target)}", map(answer, keys))


def _list(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    target = _find_readable(ircd, session, name)
    nick = session.user.nick
    lines = (value_line(ircd.name, nick, target, *item) for item in values_of(ircd, target).items())
    send_batch(ircd, session, f"metadata {name_of(target)}", lines)


def _set(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    """Set a key, or remove it if the value is empty; removing a missing key is no error."""
    key, value = params[0], (params[1] if len(params) > 1 else "") or None
    target = _find(ircd, session, name)
    _check(ircd, session, target, key, value)
    _count_change(ircd, session, name, "SET", *params)
    if value != values_of(ircd, target).get(key):
        publish_value(ircd, session.user, target, key, value)
    ircd.send(session, value_line(ircd.name, session.user.nick, target, key, value))


def _clear(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    target = _find(ircd, session, name)
    _check_permission(session, target, ALL_KEYS)
    _count_change(ircd, session, name, "CLEAR")
    keys = list(values_of(ircd, target))
    for key in keys:
        publish_value(ircd, session.user, target, key, None)
    lines = (value_line(ircd.name, session.user.nick, target, key, None) for key in keys)
    send_batch(ircd, session, f"metadata {name_of(target)}", lines)


def _sync(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> Steps | None:
    return send_synced(ircd, session, None if name == EVERYTHING else _find_readable(ircd, session, name))


def _sub(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> Steps | None:
    """Subscribe to keys in order, and send the values of those that are new."""
    _require_oneself(ircd, session, name)
    most, before = ircd.limits.metadata_subscriptions, session.subscriptions
    subscribed: list[str] = []
    refused: list[str] = []
    for key in keys:
        if 0 < most <= len(session.subscriptions):
            failure = Failure(
                "LIMIT_REACHED", "SUB", key, str(most), text="You are subscribed to too many keys"
            )
            refused.append(failure.line("METADATA", ircd.name))
            break
        if is_key(key):
            session.subscriptions |= {key}
            subscribed.append(key)
        else:
            refused.append(_invalid(key).line("METADATA", ircd.name, "WARN"))
    _send_keys(ircd, session, RPL_METADATASUBOK, subscribed)
    for line in refused:
        ircd.send(session, line)
    return send_subscribed(ircd, session, session.subscriptions - before)


def _unsub(ircd: Ircd, session: Session, name: str, keys: Sequence[str]) -> None:
    _require_oneself(ircd, session, name)
    session.subscriptions -= set(keys)
    _send_keys(ircd, session, RPL_METADATAUNSUBOK, filter(is_key, keys))
    for key in keys:
        if not is_key(key):
            ircd.send(session, _invalid(key).line("METADATA", ircd.name, "WARN"))


def _subs(ircd: Ircd, session: Session, name: str, params: Sequence[str]) -> None:
    _require_oneself(ircd, session, name)
    lines = _key_lines(ircd, session, RPL_METADATASUBS, sorted(session.subscriptions))
    send_batch(ircd, session, "metadata-subs", lines)


class _Subcommand(NamedTuple):
    answer: Callable[[Ircd, Session, str, Sequence[str]], Steps | None]
    # The least and greatest number of parameters.
    least: int = 0
    most: int = 0


_MANY: Final = 100
_SUBCOMMANDS: Final = {
    "CLEAR": _Subcommand(_clear),
    "GET": _Subcommand(_get, 1, _MANY),
    "LIST": _Subcommand(_list),
    "SET": _Subcommand(_set, 1, 2),
    "SUB": _Subcommand(_sub, 1, _MANY),
    "SUBS": _Subcommand(_subs),
    "SYNC": _Subcommand(_sync),
    "UNSUB": _Subcommand(_unsub, 1, _MANY),
}

# Permissions and limits.


def _find(ircd: Ircd, session: Session, name: str) -> Target:
    """Return the target, which before registration can only be the client itself."""
    if name == ONESELF:
        return session.user
    if session.phase is Phase.REGISTERED:
        channel = ircd.state.find_channel(name)
        if channel is not None and channel.is_visible_to(session.user):
            return channel
        if (user := ircd.state.find_user(name)) is not None:
            return user
    raise Failure("INVALID_TARGET", name, text="There is no such channel or nick")


def _find_readable(ircd: Ircd, session: Session, name: str) -> Target:
    """Return a target that the client may read; a channel that it could not join only as a member."""
    target = _find(ircd, session, name)
    if isinstance(target, Channel) and not target.is_readable_by(session.user):
        text = "Only members of that channel can read it"
        raise Failure("KEY_NO_PERMISSION", target.name, ALL_KEYS, text=text)
    return target


def _require_oneself(ircd: Ircd, session: Session, name: str) -> None:
    if _find(ircd, session, name) is not session.user:
        raise Failure("INVALID_TARGET", name, text="You can only manage your own subscriptions")


def _check(ircd: Ircd, session: Session, target: Target, key: str, value: str | None) -> None:
    if not is_key(key):
        raise _invalid(key)
    _check_permission(session, target, key)
    if value is None:
        return
    if size(value) > (room := value_bytes(ircd.limits)):
        raise Failure("INVALID_VALUE", key, text=f"The value is too long: it may have {room} bytes")
    if not has_room(ircd, target, key):
        most = str(ircd.limits.metadata_keys)
        raise Failure("LIMIT_REACHED", "SET", name_of(target), most, text="There are too many keys already")


def _check_permission(session: Session, target: Target, key: str) -> None:
    user = session.user
    if not (target.may_moderate(user) if isinstance(target, Channel) else target is user):
        raise Failure("KEY_NO_PERMISSION", name_of(target), key, text="You may not change this")


def _count_change(ircd: Ircd, session: Session, *command: str) -> None:
    """Count a change against the limit, because each goes to all subscribers. A refusal echoes it."""
    now, most = ircd.timer(), ircd.limits.metadata_changes_per_min
    if now - session.metadata_since >= MINUTE_S:
        session.metadata_since, session.metadata_changes = now, 0
    if 0 < most <= session.metadata_changes:
        wait_s = math.ceil(session.metadata_since + MINUTE_S - now)
        raise Refusal(ERR_METADATARATELIMIT, str(wait_s), *command)
    session.metadata_changes += 1


# Replies.


def _invalid(key: str) -> Failure:
    text = f"A key has 1 to {KEY_BYTES} lower-case letters, digits and _ . / -"
    return Failure("INVALID_KEY", key, text=text)


def _key_lines(ircd: Ircd, session: Session, numeric: str, keys: Iterable[str]) -> Iterator[str]:
    for line in pack(keys, ircd.room_for(session, numeric)):
        words = line.split(" ")
        for start in range(0, len(words), KEYS_PER_LINE):
            some = words[start : start + KEYS_PER_LINE]
            yield format_line(numeric, session.user.nick, *some, source=ircd.name)


def _send_keys(ircd: Ircd, session: Session, numeric: str, keys: Iterable[str]) -> None:
    for line in _key_lines(ircd, session, numeric, keys):
        ircd.send(session, line)
