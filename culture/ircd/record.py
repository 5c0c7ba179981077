"""What happened in one turn of the loop, until it is written down: commit first, deliver second."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from culture.ircd.channel import PREFIXES, Channel
from culture.ircd.events import (
    Change,
    ChannelRenamed,
    Joined,
    Kicked,
    MarkerMoved,
    MetadataChanged,
    ModesChanged,
    Parted,
    Quit,
    Redacted,
    Renamed,
    Said,
    TopicChanged,
)
from culture.ircd.session import Session
from culture.ircd.skills import Happening, Skills, end_of
from culture.ircd.spoken import tags_of
from culture.ircd.user import User

_REST: Final = tuple(Happening._field_defaults.values())[-4:]
_new = tuple.__new__


class Speaker(NamedTuple):
    """Who is told if a message could not be written down."""

    session: Session
    command: str
    target: str


class Record:
    def __init__(self, skills: Skills) -> None:
        self._wanted = skills.wanted
        self.is_wanted = bool(skills.wanted)
        """Whether anybody wants to know of anything."""
        self.happened: list[Happening] = []
        self.speakers: list[Speaker] = []

    def take(self) -> tuple[Sequence[Happening], Sequence[Speaker]]:
        taken = self.happened, self.speakers
        self.happened, self.speakers = [], []
        return taken

    def said(self, event: Said, msgid: str, at: float) -> None:
        sender, command, target, text, tags, mentioned, to, _ = event
        if command not in self._wanted:
            return
        ends = None
        if isinstance(target, Channel):
            name, is_public = target.name, to is None and target.is_public
            if to is not None:
                name = PREFIXES[to] + name
        else:
            name, is_public, ends = target.nick, False, (end_of(sender), end_of(target))
        if mentioned or sender.modes:
            tags = tags_of(event)
        # All fields in their order: by name, or with its defaults, it takes four times as long.
        values = (msgid, at, command, name, sender.mask, sender.account, text, tags, is_public, ends, *_REST)
        self.happened.append(_new(Happening, values))
        if sender.session is not None:
            self.speakers.append(_new(Speaker, (sender.session, command, name)))

    def changed(self, event: Change, msgid: str, at: float) -> None:
        """Before the event is applied, as it is told."""
        match event:
            case Joined(user, channel):
                self._in_channel(msgid, at, "JOIN", channel, user)
            case Parted(user, channel, reason):
                self._in_channel(msgid, at, "PART", channel, user, reason)
            case Kicked(user, channel, kicked, reason):
                self._in_channel(msgid, at, "KICK", channel, user, reason, (kicked.nick,))
            case ChannelRenamed(user, channel, new_name, reason):
                self._in_channel(msgid, at, "RENAME", channel, user, reason, (new_name,))
            case TopicChanged(user, channel, topic):
                self._in_channel(msgid, at, "TOPIC", channel, user, topic.text if topic else "")
            case ModesChanged(user, channel, changes, params):
                self._in_channel(msgid, at, "MODE", channel, user, "", (changes, *params))
            case Quit(user, reason):
                self._in_all_channels(msgid, at, "QUIT", user, reason)
            case MarkerMoved(user, target, timestamp):
                self._of_account(Happening(msgid, at, "MARKREAD", target, user.mask, user.account, timestamp))
            case MetadataChanged(user, User() as owner, key, value):
                params = (key,) if value is None else (key, value)
                happening = Happening(msgid, at, "METADATA", owner.nick, user.mask, owner.account)
                self._of_account(happening._replace(params=params))
            case Redacted():
                self._redacted(msgid, at, event)
            case Renamed(user, new_nick):
                self._in_all_channels(msgid, at, "NICK", user, new_nick)

    def _in_channel(
        self,
        msgid: str,
        at: float,
        command: str,
        channel: Channel,
        user: User,
        text: str = "",
        params: tuple[str, ...] = (),
    ) -> None:
        if command in self._wanted:
            self.happened.append(
                Happening(
                    msgid,
                    at,
                    command,
                    channel.name,
                    user.mask,
                    user.account,
                    text,
                    is_public=channel.is_public,
                    params=params,
                )
            )

    def _of_account(self, happening: Happening) -> None:
        """Nobody is told later what somebody without an account read, or published."""
        if happening.command in self._wanted and happening.account is not None:
            self.happened.append(happening)

    def _redacted(self, msgid: str, at: float, event: Redacted) -> None:
        user, target = event.user, event.target
        if "REDACT" in self._wanted:
            is_public = isinstance(target, Channel) and target.is_public
            self.happened.append(
                Happening(
                    *(msgid, at, "REDACT", event.name, user.mask, user.account, event.reason),
                    is_public=is_public,
                    ends=event.ends,
                    params=(event.msgid,),
                )
            )

    def _in_all_channels(self, msgid: str, at: float, command: str, user: User, text: str) -> None:
        if command in self._wanted and user.channels:
            channels = tuple((channel.name, channel.is_public) for channel in user.channels.values())
            self.happened.append(
                Happening(msgid, at, command, "", user.mask, user.account, text, channels=channels)
            )
