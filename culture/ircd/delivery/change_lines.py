"""Render events other than messages, and choose who receives them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from culture.ircd.delivery.message_lines import BOT_TAG
from culture.ircd.delivery.queue import DeliveryQueue, split_by_cap
from culture.ircd.delivery.text import LINE_BYTES, cut
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    ChannelRenamed,
    HostChanged,
    Invited,
    Joined,
    Kicked,
    MarkerMoved,
    MetadataChanged,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Redacted,
    Renamed,
    TopicChanged,
)
from culture.ircd.model.channel import Channel, status_of
from culture.ircd.model.metadata import value_line
from culture.ircd.model.state import State
from culture.ircd.model.user import User
from culture.ircd.session import Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, format_line
from culture.protocol.render import Rendered


class Announcement(NamedTuple):
    """An event as a line, with its audience and the variants that some readers get."""

    line: str
    audience: Collection[User]
    source: User
    tags: Mapping[str, str] = NO_TAGS
    # Only readers with this capability get the line.
    needs: Cap | None = None
    # A capability, and the line that readers with it get instead.
    extended: tuple[Cap, str] | None = None
    # Renders a numeric for each reader, which is sent instead of the line.
    numeric: Callable[[User], str] | None = None

    def tell(self, delivery: DeliveryQueue, at: float, msgid: str, account: str | None) -> Iterable[bytes]:
        """Queue the announcement for its audience and return the rendered lines."""
        if self.numeric is not None:
            for user in self.audience:
                delivery.tell(Rendered(self.numeric(user), at), [user])
            return ()
        plain = self.audience
        if self.extended is not None:
            cap, line = self.extended
            plain, extended = split_by_cap(self.audience, cap)
            delivery.tell(Rendered(line, at, self.tags, msgid, account), extended, self.needs)
        return delivery.tell(Rendered(self.line, at, self.tags, msgid, account), plain, self.needs)


def announcement_for(event: Change, state: State) -> Announcement:
    """Return the announcement of an event.

    Call it before the event is applied: the line carries the old nick, and users who leave receive it too.
    """
    announcement = _announce(event, state)
    if not announcement.source.is_bot:
        return announcement
    return announcement._replace(tags={BOT_TAG: "", **announcement.tags})


def _announce(event: Change, state: State) -> Announcement:
    match event:
        case Joined(user, channel):
            line, extended = _from(user, "JOIN", channel.name), extended_join(user, channel)
            return Announcement(line, {*channel.members, user}, user, extended=(Cap.EXTENDED_JOIN, extended))
        case Parted(user, channel, reason):
            line = _from(user, "PART", channel.name, *([reason] if reason else []), trailing=bool(reason))
            return Announcement(line, tuple(channel.members), user)
        case Kicked(user, channel, kicked, reason):
            line = _from(user, "KICK", channel.name, kicked.nick, reason, trailing=True)
            return Announcement(line, tuple(channel.members), user)
        case Invited(user, channel, invited):
            line = _from(user, "INVITE", invited.nick, channel.name)
            audience = {member for member in channel.members if member is not user and _wants_invites(member)}
            return Announcement(line, {*audience, invited}, user)
        case Quit(user, reason):
            line = _from(user, "QUIT", reason, trailing=True)
            return Announcement(line, state.neighbours(user) - {user}, user)
        case Renamed(user, new_nick):
            return Announcement(_from(user, "NICK", new_nick, trailing=True), state.neighbours(user), user)
        case AwayChanged(user, away, newcomer_to):
            line = _from(user, "AWAY", *([away] if away else []), trailing=bool(away))
            audience = set(newcomer_to.members) if newcomer_to else _followers(user, state)
            return Announcement(line, audience - {user}, user, needs=Cap.AWAY_NOTIFY)
        case AccountChanged(user, account):
            line = _from(user, "ACCOUNT", account or "*")
            return Announcement(line, _followers(user, state), user, needs=Cap.ACCOUNT_NOTIFY)
        case RealnameChanged(user, realname):
            line = _from(user, "SETNAME", realname, trailing=True)
            return Announcement(line, _followers(user, state), user, needs=Cap.SETNAME)
        case HostChanged(user, username, host):
            line = _from(user, "CHGHOST", username, host)
            return Announcement(line, _followers(user, state), user, needs=Cap.CHGHOST)
        case ChannelRenamed(user, channel, new_name, reason):
            line = _from(user, "RENAME", channel.name, new_name, reason, trailing=True)
            return Announcement(line, channel.members, user, needs=Cap.CHANNEL_RENAME)
        case TopicChanged(user, channel, topic):
            line = _from(user, "TOPIC", channel.name, topic.text if topic else "", trailing=True)
            return Announcement(line, channel.members, user)
        case ModesChanged(user, channel, changes, params):
            return Announcement(_from(user, "MODE", channel.name, changes, *params), channel.members, user)
        case MetadataChanged(user, target, key, value):
            numeric = partial(_value_for, state.host, target, key, value)
            return Announcement("", _subscribers(event, state), user, numeric=numeric)
        case MarkerMoved(user, name, timestamp, host):
            line = format_line("MARKREAD", name, f"timestamp={timestamp}", source=host)
            return Announcement(line, state.connections(user) - {user}, user, needs=Cap.READ_MARKER)
        case Redacted(user, target, name, msgid, reason):
            words = (name, msgid, *([reason] if reason else []))
            line = _from(user, "REDACT", *words, trailing=bool(reason))
            readers = _addressed(target, name) if isinstance(target, Channel) else [target]
            return Announcement(line, _with_echo(readers, user), user, needs=Cap.MESSAGE_REDACTION)


def _addressed(channel: Channel, name: str) -> Iterable[User]:
    status = status_of(name)
    return channel.members if status is None else channel.at_least(status)


def _followers(user: User, state: State) -> set[User]:
    """Return the user, everyone who shares a channel with them, and their extended-monitor watchers."""
    return state.neighbours(user).union(
        watcher
        for watcher in state.monitors.of(user.key)
        if watcher.session is not None and Cap.EXTENDED_MONITOR in watcher.session.caps
    )


def _subscribers(event: MetadataChanged, state: State) -> set[User]:
    """Return who subscribed to the key and can see the target, without the user who changed it."""
    target = event.target
    if isinstance(target, User):
        followers = {*state.neighbours(target), *state.monitors.of(target.key)}
    else:
        followers = {*target.members}
    return {
        user
        for user in followers
        if user is not event.user
        and user.session is not None
        and event.key in user.session.subscriptions
        and user.session.knows_metadata
    }


def _value_for(server: str, target: User | Channel, key: str, value: str | None, reader: User) -> str:
    return value_line(server, reader.nick, target, key, value)


def _with_echo(readers: Iterable[User | None], sender: User) -> set[User]:
    """Return the readers, with the sender only if they use echo-message (IRCv3 echo-message)."""
    is_echoed = sender.session is not None and Cap.ECHO_MESSAGE in sender.session.caps
    others = {reader for reader in readers if reader is not None and reader is not sender}
    return others | {sender} if is_echoed else others


def _wants_invites(user: User) -> bool:
    return user.session is not None and Cap.INVITE_NOTIFY in user.session.caps


def extended_join(user: User, channel: Channel) -> str:
    """Render a JOIN with account and realname (IRCv3 extended-join)."""
    return _from(user, "JOIN", channel.name, user.account or "*", user.realname, trailing=True)


def join_for(session: Session, user: User, channel: Channel) -> str:
    """Render the JOIN of a user in the form that one session understands."""
    if Cap.EXTENDED_JOIN in session.caps:
        return extended_join(user, channel)
    return _from(user, "JOIN", channel.name)


def _from(user: User, command: str, *params: str, trailing: bool = False) -> str:
    return cut(format_line(command, *params, source=user.mask, trailing=trailing), LINE_BYTES)
