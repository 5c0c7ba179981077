"""How an event reads on the wire, and who reads it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from culture.ircd.channel import Channel
from culture.ircd.events import Event, Joined, ModesChanged, Parted, Quit, Renamed, Said, TopicChanged
from culture.ircd.state import State
from culture.ircd.text import LINE_BYTES, cut
from culture.ircd.user import User
from culture.protocol.line import format_line
from culture.protocol.mentions import TAG as MENTIONS_TAG


@dataclass(frozen=True, slots=True)
class Announcement:
    line: str
    audience: Collection[User]
    tags: Mapping[str, str] = field(default_factory=dict)
    not_to: User | None = None
    """Who knows already, having said it; told all the same where it asked for an echo."""
    needs_tags: bool = False
    """Whether it means nothing to readers without message-tags."""


def announce(event: Event, state: State) -> Announcement:
    """To be asked before the event is applied: it is told from the old nick, and to those who leave."""
    match event:
        case Said():
            return _announce_said(event)
        case Joined(user, channel):
            return Announcement(_from(user, "JOIN", channel.name), {*channel.members, user})
        case Parted(user, channel, reason):
            line = _from(user, "PART", channel.name, *([reason] if reason else []), trailing=bool(reason))
            return Announcement(line, tuple(channel.members))
        case Quit(user, reason):
            return Announcement(_from(user, "QUIT", reason, trailing=True), state.neighbours(user) - {user})
        case Renamed(user, new_nick):
            return Announcement(_from(user, "NICK", new_nick, trailing=True), state.neighbours(user))
        case TopicChanged(user, channel, topic):
            line = _from(user, "TOPIC", channel.name, topic.text if topic else "", trailing=True)
            return Announcement(line, channel.members)
        case ModesChanged(user, channel, changes, params):
            return Announcement(_from(user, "MODE", channel.name, changes, *params), channel.members)


def _announce_said(event: Said) -> Announcement:
    target = event.target
    name = target.name if isinstance(target, Channel) else target.nick
    audience = target.members if isinstance(target, Channel) else {target, event.sender}
    tags = event.tags
    if event.mentioned:
        tags = {**tags, MENTIONS_TAG: ",".join(user.nick for user in event.mentioned)}
    tags_only = event.command == "TAGMSG"
    text = () if tags_only else (event.text,)
    line = _from(event.sender, event.command, name, *text, trailing=bool(text))
    # Who writes to oneself wants to read it.
    knows = None if target is event.sender else event.sender
    return Announcement(line, audience, tags, not_to=knows, needs_tags=tags_only)


def _from(user: User, command: str, *params: str, trailing: bool = False) -> str:
    return cut(format_line(command, *params, source=user.mask, trailing=trailing), LINE_BYTES)
