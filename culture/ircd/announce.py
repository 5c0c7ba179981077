"""How an event reads on the wire, and who reads it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from culture.ircd.channel import PREFIXES, Channel
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Event,
    Invited,
    Joined,
    Kicked,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Renamed,
    Said,
    TopicChanged,
)
from culture.ircd.state import State
from culture.ircd.text import LINE_BYTES, cut
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, format_line
from culture.protocol.mentions import TAG as MENTIONS_TAG

_BOT_TAG = "bot"
"""On everything that comes from a bot (IRCv3 bot-mode)."""


class Announcement(NamedTuple):
    line: str
    audience: Collection[User]
    source: User
    tags: Mapping[str, str] = NO_TAGS
    not_to: User | None = None
    """Who knows already, having said it; told all the same where it asked for an echo."""
    needs: Cap | None = None
    """The capability without which it means nothing to a reader."""
    extended: tuple[Cap, str] | None = None
    """Another line for readers with a capability."""
    channel: Channel | None = None
    """The channel whose members, and nobody else, read the line as it is."""


def announce(event: Event, state: State) -> Announcement:
    """To be asked before the event is applied: it is told from the old nick, and to those who leave."""
    told = _announce(event, state)
    return told._replace(tags={**told.tags, _BOT_TAG: ""}) if told.source.is_bot else told


def _announce(event: Event, state: State) -> Announcement:
    match event:
        case Said():
            return _announce_said(event)
        case Joined(user, channel):
            line, extended = _from(user, "JOIN", channel.name), _extended_join(user, channel)
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
        case TopicChanged(user, channel, topic):
            line = _from(user, "TOPIC", channel.name, topic.text if topic else "", trailing=True)
            return Announcement(line, channel.members, user)
        case ModesChanged(user, channel, changes, params):
            return Announcement(_from(user, "MODE", channel.name, changes, *params), channel.members, user)


def _announce_said(event: Said) -> Announcement:
    target, sender = event.target, event.sender
    audience: Collection[User]
    # The channel, where exactly its members read it.
    channel: Channel | None = None
    if not isinstance(target, Channel):
        name, audience = target.nick, {target, sender}
    elif event.to is not None:
        name, audience = PREFIXES[event.to] + target.name, {*target.at_least(event.to), sender}
    elif sender not in target.members:
        name, audience = target.name, {*target.members, sender}
    else:
        name, audience, channel = target.name, target.members, target
    tags = event.tags
    if event.mentioned:
        tags = {**tags, MENTIONS_TAG: ",".join(user.nick for user in event.mentioned)}
    tags_only = event.command == "TAGMSG"
    # The text was made to fit when it was said.
    line = f":{sender.mask} {event.command} {name}" + ("" if tags_only else f" :{event.text}")
    # Who writes to oneself wants to read it.
    knows = None if target is sender else sender
    needs = Cap.MESSAGE_TAGS if tags_only else None
    run = None if tags_only else channel
    return Announcement(line, audience, sender, tags, not_to=knows, needs=needs, channel=run)


def _followers(user: User, state: State) -> set[User]:
    """Who shares a channel with a user or monitors them closely (extended-monitor), and the user."""
    return state.neighbours(user).union(
        watcher
        for watcher in state.watchers.of(user.key)
        if watcher.session is not None and Cap.EXTENDED_MONITOR in watcher.session.caps
    )


def _wants_invites(user: User) -> bool:
    return user.session is not None and Cap.INVITE_NOTIFY in user.session.caps


def _extended_join(user: User, channel: Channel) -> str:
    return _from(user, "JOIN", channel.name, user.account or "*", user.realname, trailing=True)


def _from(user: User, command: str, *params: str, trailing: bool = False) -> str:
    return cut(format_line(command, *params, source=user.mask, trailing=trailing), LINE_BYTES)
