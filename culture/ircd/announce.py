"""How an event other than a message reads on the wire, and who reads it."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from culture.ircd.channel import Channel, status_of
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
from culture.ircd.metadata import EVERYONE, name_of
from culture.ircd.session import Session
from culture.ircd.spoken import BOT_TAG
from culture.ircd.state import State
from culture.ircd.text import LINE_BYTES, cut
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, format_line


class Announcement(NamedTuple):
    line: str
    audience: Collection[User]
    source: User
    tags: Mapping[str, str] = NO_TAGS
    needs: Cap | None = None
    """The capability without which it means nothing to a reader."""
    extended: tuple[Cap, str] | None = None
    """Another line for readers with a capability."""


def announce(event: Change, state: State) -> Announcement:
    """To be asked before the event is applied: it is told from the old nick, and to those who leave."""
    told = _announce(event, state)
    return told._replace(tags={BOT_TAG: "", **told.tags}) if told.source.is_bot else told


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
            told = {member for member in channel.members if member is not user and _wants_invites(member)}
            return Announcement(line, {*told, invited}, user)
        case Quit(user, reason):
            line = _from(user, "QUIT", reason, trailing=True)
            return Announcement(line, state.neighbours(user) - {user}, user)
        case Renamed(user, new_nick):
            return Announcement(_from(user, "NICK", new_nick, trailing=True), state.neighbours(user), user)
        case AwayChanged(user, away, newcomer_to):
            line = _from(user, "AWAY", *([away] if away else []), trailing=bool(away))
            told = set(newcomer_to.members) if newcomer_to else _followers(user, state)
            return Announcement(line, told - {user}, user, needs=Cap.AWAY_NOTIFY)
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
            params = (name_of(target), key, EVERYONE, *([] if value is None else [value]))
            line = _from(user, "METADATA", *params, trailing=value is not None)
            return Announcement(line, _subscribers(event, state), user, needs=Cap.METADATA)
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
    """Who shares a channel with a user or monitors them closely (extended-monitor), and the user."""
    return state.neighbours(user).union(
        watcher
        for watcher in state.watchers.of(user.key)
        if watcher.session is not None and Cap.EXTENDED_MONITOR in watcher.session.caps
    )


def _subscribers(event: MetadataChanged, state: State) -> set[User]:
    """Who shares a channel with the user or monitors them, or is in the channel, and asked for the key.

    Less who made the change.
    """
    target = event.target
    if isinstance(target, User):
        followers = {*state.neighbours(target), *state.watchers.of(target.key)}
    else:
        followers = {*target.members}
    return {
        user
        for user in followers
        if user is not event.user and user.session is not None and event.key in user.session.subscriptions
    }


def _with_echo(readers: Iterable[User | None], sender: User) -> set[User]:
    """As a message: who sent it reads it if they asked for that (IRCv3 echo-message)."""
    is_echoed = sender.session is not None and Cap.ECHO_MESSAGE in sender.session.caps
    others = {reader for reader in readers if reader is not None and reader is not sender}
    return others | {sender} if is_echoed else others


def _wants_invites(user: User) -> bool:
    return user.session is not None and Cap.INVITE_NOTIFY in user.session.caps


def extended_join(user: User, channel: Channel) -> str:
    return _from(user, "JOIN", channel.name, user.account or "*", user.realname, trailing=True)


def join_for(session: Session, user: User, channel: Channel) -> str:
    """That somebody is in a channel from now on, to one reader alone."""
    if Cap.EXTENDED_JOIN in session.caps:
        return extended_join(user, channel)
    return _from(user, "JOIN", channel.name)


def _from(user: User, command: str, *params: str, trailing: bool = False) -> str:
    return cut(format_line(command, *params, source=user.mask, trailing=trailing), LINE_BYTES)
