"""What is published in metadata, and who is told of it without asking (IRCv3 draft/metadata-2)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.events import MetadataChanged
from culture.ircd.metadata import EVERYONE, Target, name_of
from culture.ircd.replies import send_batch
from culture.ircd.session import Phase, Session
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import format_line
from culture.protocol.numerics import RPL_METADATASYNCLATER

MOST_AT_ONCE: Final = 500
"""Values that nobody asked for. Who joins a channel where more is published is told to ask for it."""
LATER_S: Final = 5


def values_of(ircd: Ircd, target: Target) -> Mapping[str, str]:
    return target.metadata if _is_early(target) else ircd.state.metadata.of(target)


def has_room(ircd: Ircd, target: Target, key: str) -> bool:
    values, most = values_of(ircd, target), ircd.limits.metadata_keys
    return key in values or not 0 < most <= len(values)


def publish_value(ircd: Ircd, by: User, target: Target, key: str, value: str | None) -> None:
    """Of every connection of an account: it is the same on all of them."""
    if _is_early(target):
        target.metadata.pop(key, None)
        target.metadata |= {} if value is None else {key: value}
        return
    for each in ircd.state.connections(target) if isinstance(target, User) else [target]:
        ircd.publish(MetadataChanged(by, each, key, value))


def send_own(ircd: Ircd, session: Session) -> None:
    """To who registers: what their account published, and what they did on the way in."""
    _publish_early(ircd, session.user)
    if Cap.METADATA in session.caps:
        send_published(ircd, session)


def send_published(ircd: Ircd, session: Session) -> None:
    """What one has published, also if that is nothing."""
    user, values = session.user, ircd.state.metadata.of(session.user)
    send_batch(ircd, session, f"metadata {user.nick}", messages(ircd, user, values, values))


def send_on_join(ircd: Ircd, session: Session, channel: Channel) -> None:
    """What is published in a channel, as far as the client subscribed to it."""
    if Cap.METADATA in session.caps and session.subscriptions:
        _send_in(ircd, session, channel, list(messages_in(ircd, session, channel)), MOST_AT_ONCE)


def tell_newcomer(ircd: Ircd, user: User, channel: Channel) -> None:
    """To the members of a channel that somebody came to, as far as they did not follow them before."""
    values = ircd.state.metadata.of(user)
    if not values:
        return
    others = [each for each in user.channels.values() if each is not channel]
    known = {user, *ircd.state.watchers.of(user.key)}.union(*(each.members for each in others))
    for member in channel.members.keys() - known:
        if member.session is not None:
            send_of(ircd, member.session, user)


def send_subscribed(ircd: Ircd, session: Session, keys: Collection[str]) -> None:
    """To who subscribed just now: what these keys are where changes would be told. Of oneself one knows."""
    if Cap.METADATA not in session.caps or not keys:
        return
    wanted, known, room = sorted(keys), {session.user}, MOST_AT_ONCE
    for channel in session.user.channels.values():
        others = [user for user in channel.members if user not in known]
        lines = list(_messages_of(ircd, [channel, *others], wanted))
        if _send_in(ircd, session, channel, lines, room):
            known.update(others)
            room -= len(lines)
    for nick in ircd.state.watchers.watched_by(session.user):
        user = ircd.state.find_user(nick)
        if user is not None and user not in known:
            _send_of(ircd, session, user, wanted)


def send_of(ircd: Ircd, session: Session, user: User) -> None:
    """To who follows somebody from now on: who monitors them, or is in a channel that they came to."""
    _send_of(ircd, session, user, sorted(session.subscriptions))


def tell_watchers(ircd: Ircd, user: User) -> None:
    """Somebody came, or is called otherwise from now on."""
    for watcher in ircd.state.watchers.of(user.key):
        if watcher.session is not None:
            send_of(ircd, watcher.session, user)


def tell_login(ircd: Ircd, user: User, before: Mapping[str, str]) -> None:
    """Somebody logged in: what they published goes on to the account, and what it had is news to others."""
    _publish_early(ircd, user)
    after = dict(ircd.state.metadata.of(user))
    for key in {**before, **after}:
        if before.get(key) != after.get(key):
            ircd.publish(MetadataChanged(user, user, key, after.get(key)))
    session = user.session
    if session is not None and Cap.METADATA in session.caps and before != after:
        send_published(ircd, session)


def messages(ircd: Ircd, target: Target, values: Mapping[str, str], wanted: Iterable[str]) -> Iterator[str]:
    """Values that nobody asked for."""
    for key in wanted:
        if (value := values.get(key)) is not None:
            about = (name_of(target), key, EVERYONE, value)
            yield format_line("METADATA", *about, source=ircd.name, trailing=True)


def messages_in(ircd: Ircd, session: Session, channel: Channel) -> Iterator[str]:
    """Of a channel, and of all but oneself who are in it, as far as one may know that."""
    others = [user for user in channel.members_for(session.user) if user is not session.user]
    return _messages_of(ircd, [channel, *others], sorted(session.subscriptions))


def _messages_of(ircd: Ircd, targets: Iterable[Target], wanted: Sequence[str]) -> Iterator[str]:
    for target in targets:
        yield from messages(ircd, target, ircd.state.metadata.of(target), wanted)


def _send_in(ircd: Ircd, session: Session, channel: Channel, lines: Sequence[str], room: int) -> bool:
    """Whether there was room for them: a short line is not to bring a long list."""
    if len(lines) > room:
        ircd.reply(session, RPL_METADATASYNCLATER, channel.name, str(LATER_S), trailing=False)
        return False
    if lines:
        send_batch(ircd, session, f"metadata {channel.name}", lines)
    return True


def _send_of(ircd: Ircd, session: Session, user: User, wanted: Iterable[str]) -> None:
    if Cap.METADATA in session.caps:
        values = ircd.state.metadata.of(user)
        if lines := list(messages(ircd, user, values, wanted)):
            send_batch(ircd, session, f"metadata {user.nick}", lines)


def _publish_early(ircd: Ircd, user: User) -> None:
    """What somebody published before there was an account, or anybody to be told, takes effect."""
    early, user.metadata = user.metadata, {}
    for key, value in early.items():
        if has_room(ircd, user, key):
            publish_value(ircd, user, user, key, value)


def _is_early(target: Target) -> bool:
    """Whether this is somebody who is still registering: what they publish takes effect afterwards."""
    session = target.session if isinstance(target, User) else None
    return session is not None and session.phase is Phase.REGISTERING
