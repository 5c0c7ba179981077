"""Publish metadata and push it to subscribed clients (IRCv3 draft/metadata-3)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from culture.ircd.delivery.batches import send_batch
from culture.ircd.events import MetadataChanged
from culture.ircd.model.channel import Channel
from culture.ircd.model.metadata import Target, name_of, value_line
from culture.ircd.model.user import User
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.ircd.slices import Steps
from culture.protocol.numerics import ERR_METADATASYNCLATER

# The most values that are pushed at once; with more, the client is told to send METADATA SYNC.
MAX_PUSHED_VALUES: Final = 500
# The most values in the reply to one METADATA SYNC.
MAX_SYNCED_VALUES: Final = 5000
RETRY_AFTER_S: Final = 5
# How many users one step of a long reply covers, so that other clients get their turn in between.
USERS_PER_STEP: Final = 200
# The batch target that stands for all users and channels that a client can see.
EVERYTHING: Final = "*ALL"


def values_of(ircd: Ircd, target: Target) -> Mapping[str, str]:
    """Return the metadata of a user or channel, also of a user who is still registering."""
    return target.metadata if _is_early(target) else ircd.state.metadata.of(target)


def has_room(ircd: Ircd, target: Target, key: str) -> bool:
    """Return whether the limit on keys allows the target to have this key."""
    values, most = values_of(ircd, target), ircd.limits.metadata_keys
    return key in values or not 0 < most <= len(values)


def publish_value(ircd: Ircd, by: User, target: Target, key: str, value: str | None) -> None:
    """Set or delete a value on the target, and on all connections of a user's account."""
    if _is_early(target):
        target.metadata.pop(key, None)
        target.metadata |= {} if value is None else {key: value}
        return
    for each in ircd.state.connections(target) if isinstance(target, User) else [target]:
        ircd.publish(MetadataChanged(by, each, key, value))


def send_own(ircd: Ircd, session: Session) -> None:
    """Send a newly registered client its own metadata, with what it set during registration."""
    _publish_early(ircd, session.user)
    if session.is_metadata_aware:
        send_published(ircd, session)


def send_published(ircd: Ircd, session: Session) -> None:
    """Send a client its own metadata, as an empty batch if it has none."""
    lines = _lines_of(ircd, session, [session.user], ircd.state.metadata.of(session.user))
    send_batch(ircd, session, f"metadata {session.user.nick}", lines)


def send_on_join(ircd: Ircd, session: Session, channel: Channel) -> None:
    """Send a client that joined a channel what METADATA SYNC would reply, or tell it to sync later."""
    if session.is_metadata_aware:
        _send(ircd, session, channel.name, lines_in(ircd, session, channel), MAX_PUSHED_VALUES)


def send_online(ircd: Ircd, session: Session, user: User) -> None:
    """Send a watcher the metadata of a user who came online, as METADATA SYNC would."""
    if session.is_metadata_aware:
        lines = _lines_of(ircd, session, [user], session.subscriptions)
        _send(ircd, session, user.nick, lines, MAX_PUSHED_VALUES)


def tell_newcomer(ircd: Ircd, user: User, channel: Channel) -> None:
    """Send a newcomer's metadata to the members of the channel who could not see the newcomer before."""
    if not ircd.state.metadata.of(user):
        return
    others = [each for each in user.channels.values() if each is not channel]
    known = {user, *ircd.state.monitors.of(user.key)}.union(*(each.members for each in others))
    for member in channel.members.keys() - known:
        session = member.session
        if session is not None and session.is_metadata_aware:
            lines = list(_lines_of(ircd, session, [user], session.subscriptions))
            if lines:
                send_batch(ircd, session, f"metadata {user.nick}", lines)


def send_subscribed(ircd: Ircd, session: Session, keys: Collection[str]) -> Steps | None:
    """Send the values of newly subscribed keys for all users and channels that the client can see."""
    if not session.is_metadata_aware or session.phase is not Phase.REGISTERED or not keys:
        return None
    return _send_everything(ircd, session, keys, MAX_PUSHED_VALUES)


def send_synced(ircd: Ircd, session: Session, target: Target | None) -> Steps | None:
    """Reply to METADATA SYNC for one user or channel, or for all that the client can see."""
    if target is None:
        return _send_everything(ircd, session, session.subscriptions, MAX_SYNCED_VALUES)
    if isinstance(target, Channel):
        lines = lines_in(ircd, session, target)
    else:
        lines = _lines_of(ircd, session, [target], session.subscriptions)
    _send(ircd, session, name_of(target), lines, MAX_SYNCED_VALUES)
    return None


def tell_watchers(ircd: Ircd, user: User) -> None:
    """Send the metadata of a user to those who monitor their new nick."""
    for watcher in ircd.state.monitors.of(user.key):
        if watcher.session is not None:
            send_online(ircd, watcher.session, user)


def tell_login(ircd: Ircd, user: User, before: Mapping[str, str]) -> None:
    """Move a user's metadata to the account they logged in to, and announce the values that changed."""
    _publish_early(ircd, user)
    after = dict(ircd.state.metadata.of(user))
    for key in {**before, **after}:
        if before.get(key) != after.get(key):
            ircd.publish(MetadataChanged(user, user, key, after.get(key)))
    session = user.session
    if session is not None and session.is_metadata_aware and before != after:
        send_published(ircd, session)


def lines_in(ircd: Ircd, session: Session, channel: Channel) -> Iterator[str]:
    """Render the subscribed keys of a channel and of the other members that the client may see."""
    others = (user for user in channel.members_for(session.user) if user is not session.user)
    return _lines_of(ircd, session, [channel, *others], session.subscriptions)


def _send_everything(ircd: Ircd, session: Session, keys: Collection[str], most: int) -> Steps:
    """Send the values of some keys for all users and channels that a client can see, step by step."""
    lines: list[str] = []
    known: set[Target] = set()
    for group in _visible_targets(ircd, session):
        lines += islice(
            _lines_of(ircd, session, [each for each in group if each not in known], keys),
            most + 1 - len(lines),
        )
        known.update(group)
        yield
    _send(ircd, session, EVERYTHING, iter(lines), most)


def _visible_targets(ircd: Ircd, session: Session) -> Iterator[Sequence[Target]]:
    """Yield the users and channels that a client can see, in groups (IRCv3 draft/metadata-3, definitions).

    The client is notified of changes that happen between two groups, so that it misses none.
    """
    user, state = session.user, ircd.state
    channels = list(user.channels.values())
    yield [*channels, user]
    for channel in channels:
        members = list(channel.members) if user in channel.members else []
        for start in range(0, len(members), USERS_PER_STEP):
            yield members[start : start + USERS_PER_STEP]
    yield [each for nick in state.monitors.watched_by(user) if (each := state.find_user(nick))]


def _lines_of(
    ircd: Ircd, session: Session, targets: Iterable[Target], wanted: Collection[str]
) -> Iterator[str]:
    for target in targets:
        values = values_of(ircd, target)
        for key in [key for key in values if key in wanted]:
            yield value_line(ircd.name, session.user.nick, target, key, values[key])


def _send(ircd: Ircd, session: Session, name: str, lines: Iterator[str], most: int) -> None:
    """Send lines in a batch; if there are too many, tell the client to sync later."""
    some = list(islice(lines, most + 1))
    if len(some) > most:
        text = "There is much metadata; ask for it by METADATA SYNC"
        ircd.reply(session, ERR_METADATASYNCLATER, name, str(RETRY_AFTER_S), text)
    else:
        send_batch(ircd, session, f"metadata {name}", some)


def _publish_early(ircd: Ircd, user: User) -> None:
    """Publish what a user set before they were registered or logged in."""
    early, user.metadata = user.metadata, {}
    for key, value in early.items():
        if has_room(ircd, user, key):
            publish_value(ircd, user, user, key, value)


def _is_early(target: Target) -> bool:
    """Return whether the target is a user who is still registering, whose changes take effect later."""
    session = target.session if isinstance(target, User) else None
    return session is not None and session.phase is Phase.REGISTERING
