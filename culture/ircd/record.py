"""What happened in one turn of the loop, until it is written down: commit first, deliver second."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from culture.ircd.channel import PREFIXES, Channel, Flag, Setting, Status
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
    Said,
    TopicChanged,
)
from culture.ircd.session import Session
from culture.ircd.skills import Happening, Skills, end_of
from culture.ircd.spoken import tags_of
from culture.ircd.stamps import format_stamp
from culture.ircd.user import SignOn, User, format_sign_on
from culture.protocol.happening import GENERATION_SHIFT, LINES_TAG, MADE_TAG, NAMED_TAG, STAMP_TAG
from culture.protocol.line import NO_TAGS
from culture.protocol.multiline import composition

_new = tuple.__new__

FULL: Final = 1000
"""Of one turn that are written down and delivered before more is heard. Beyond what the caches of a processor
hold each takes longer: 500 pairs with 256 messages on the way in each said 228,000 a second with history, and
381,000 so."""


Speaker = tuple[Session, str, str]
"""Who is told if a message could not be written down, by what command it was sent, and to whom."""


class Moment(NamedTuple):
    """When a change happened, and the name by which it is known everywhere (IRCv3 msgid)."""

    id: str
    """Empty, where no client is told."""
    at: float
    stamp_ms: int = 0
    """As what it counts against other changes of the same thing: its time, or what is later than the last."""

    named: Sequence[SignOn] = ()
    """Whom it is about."""

    @property
    def tags(self) -> Mapping[str, str]:
        tags = {STAMP_TAG: str(self.stamp_ms)} if self.stamp_ms > int(self.at * 1000) else NO_TAGS
        return {**tags, NAMED_TAG: ",".join(map(format_sign_on, self.named))} if self.named else tags


class Record:
    def __init__(self, skills: Skills, generation: int) -> None:
        self._wanted = skills.wanted
        self.is_wanted = bool(skills.wanted)
        """Whether anybody wants to know of anything."""
        self.happened: list[Happening] = []
        self.speakers: list[Speaker] = []
        self.begin(generation)

    def begin(self, generation: int) -> None:
        """From now on numbers are of this generation: whatever had a number before it is older."""
        self.generation = generation
        self._numbers = itertools.count((generation << GENERATION_SHIFT) + 1)

    def want(self, commands: frozenset[str]) -> None:
        """Besides what skills want."""
        self._wanted |= commands
        self.is_wanted = True

    @property
    def is_full(self) -> bool:
        return len(self.happened) >= FULL

    def take(self) -> tuple[Sequence[Happening], Sequence[Speaker]]:
        taken = self.happened, self.speakers
        self.happened, self.speakers = [], []
        return taken

    def took(self, happening: Happening) -> None:
        """Of another host, which numbered it."""
        if happening.command in self._wanted:
            self.happened.append(happening)

    def said(self, event: Said, msgid: str, at: float) -> None:
        tags = tags_of(event) if event.mentioned or event.sender.modes else event.tags
        if event.fragments and (lines := composition(event.fragments)):
            tags = {**tags, LINES_TAG: lines}
        self.spoke(event.sender, event.command, event.target, event.text, tags, event.to, msgid, at)

    def spoke(
        self,
        sender: User,
        command: str,
        target: Channel | User,
        text: str,
        tags: Mapping[str, str],
        to: Status | None,
        msgid: str,
        at: float,
    ) -> None:
        """As `said`, without the event. The tags are those that everybody reads."""
        if command not in self._wanted:
            return
        if isinstance(target, Channel):
            name, is_public, is_local = target.name, to is None and target.is_public, target.is_local
            ends, host = None, ""
            if to is not None:
                name = PREFIXES[to] + name
        else:
            name, is_public, is_local = target.nick, False, False
            ends, host = (end_of(sender), end_of(target)), target.server
        # All fields in their order: by name, or with its defaults, it takes four times as long.
        values = (
            msgid, at, command, name, sender.mask, sender.account, text, tags, is_public, ends, (), (), "",
            next(self._numbers), host, is_local, "*",
        )  # fmt: skip
        self.happened.append(_new(Happening, values))
        if sender.session is not None:
            self.wait_for(sender.session, command, name)

    def wait_for(self, session: Session, command: str, name: str) -> None:
        """Whom a message came from is told if it could not be written down."""
        if self.is_wanted:
            self.speakers.append((session, command, name))

    def changed(self, event: Change, moment: Moment) -> None:
        """Before the event is applied, as it is told."""
        match event:
            case Joined(user, channel):
                made_at = str(int(channel.created_at * 1000))
                about = (made_at, "-" if channel.members else "o", format_stamp(channel.made_anew))
                self._in_channel(moment, "ENTER", channel, user, params=about)
                made = NO_TAGS if channel.members else {MADE_TAG: ""}
                self._in_channel(moment, "JOIN", channel, user, user.realname, tags=made)
            case Parted(user, channel, reason):
                self._in_channel(moment, "PART", channel, user, reason)
            case Kicked(user, channel, kicked, reason):
                self._in_channel(moment, "KICK", channel, user, reason, (kicked.nick,))
            case Invited(user, channel, invited):
                self._in_channel(moment, "INVITE", channel, user, params=(invited.nick,))
            case ChannelRenamed(user, channel, new_name, reason):
                self._in_channel(moment, "RENAME", channel, user, reason, (new_name,))
            case TopicChanged(user, channel, topic):
                self._in_channel(moment, "TOPIC", channel, user, topic.text if topic else "")
            case ModesChanged(user, channel, changes, params):
                if Flag.LOCAL in changes:
                    for member in channel.members:
                        self._in_channel(moment, "LEFT", channel, member)
                self._in_channel(moment, "MODE", channel, user, "", (changes, *params))
            case Quit(user, reason):
                self._in_all_channels(moment, ("QUIT", "GONE"), user, reason)
            case Renamed(user, new_nick):
                self._in_all_channels(moment, ("NICK", "NAMED"), user, new_nick)
            case AwayChanged(user, away, None):
                self.passing(moment, "AWAY", user, text=away or "")
            case AccountChanged(user, account):
                self.passing(moment, "ACCOUNT", user, text=account or "")
            case RealnameChanged(user, realname):
                self.passing(moment, "SETNAME", user, text=realname)
            case HostChanged(user, username, host):
                self.passing(moment, "CHGHOST", user, params=(username, host))
            case MarkerMoved(user, target, timestamp):
                self._of_account(moment, "MARKREAD", target, user, user.account, timestamp)
            case MetadataChanged():
                self._published(moment, event)
            case Redacted():
                self._redacted(moment, event)

    def arrived(self, moment: Moment, user: User, metadata: Mapping[str, str]) -> None:
        """Somebody is on the network from now on."""
        about = (str(round(user.signed_on_at * 1000)), "+" + "".join(sorted(user.modes)))
        self.passing(moment, "USER", user, text=user.realname, params=about)
        if user.away is not None:
            self.passing(moment, "AWAY", user, text=user.away)
        for key, value in metadata.items():
            self.passing(moment, "META", user, user.nick, value, (key, "+"))

    def passing(
        self,
        moment: Moment,
        command: str,
        user: User,
        target: str = "",
        text: str = "",
        params: tuple[str, ...] = (),
    ) -> None:
        """What other hosts have to know of a user, and nobody will ask for."""
        if command in self._wanted:
            self._add(moment, command, target, user, text, tags=moment.tags, params=params)

    def _in_channel(
        self,
        moment: Moment,
        command: str,
        channel: Channel,
        user: User,
        text: str = "",
        params: tuple[str, ...] = (),
        tags: Mapping[str, str] = NO_TAGS,
    ) -> None:
        if command in self._wanted:
            letters = params[0] if command == "MODE" else ""
            is_local = channel.is_local or Flag.LOCAL in letters
            self._add(
                moment,
                command,
                channel.name,
                user,
                text,
                tags={**moment.tags, **tags} if tags else moment.tags,
                # When anybody may come in again the key is still no stranger's to read: it may be set again.
                is_public=channel.is_public and Setting.KEY not in letters,
                params=params,
                is_local=is_local,
            )

    def _of_account(
        self,
        moment: Moment,
        command: str,
        target: str,
        user: User,
        account: str | None,
        text: str = "",
        params: tuple[str, ...] = (),
    ) -> None:
        """Nobody is told later what somebody without an account read, or published."""
        if command in self._wanted and account is not None:
            happening = Happening(moment.id, moment.at, command, target, user.mask, account, text)
            self.happened.append(happening._replace(params=params, seq=next(self._numbers), is_local=True))

    def _published(self, moment: Moment, event: MetadataChanged) -> None:
        user, target, key, value = event.user, event.target, event.key, event.value
        told = (key, "-" if value is None else "+")
        if isinstance(target, Channel):
            self._in_channel(moment, "META", target, user, value or "", told)
        else:
            params = (key,) if value is None else (key, value)
            self._of_account(moment, "METADATA", target.nick, user, target.account, params=params)
            self.passing(moment, "META", user, target.nick, value or "", told)

    def _redacted(self, moment: Moment, event: Redacted) -> None:
        target = event.target
        if "REDACT" in self._wanted:
            self._add(
                moment,
                "REDACT",
                event.name,
                event.user,
                event.reason,
                is_public=isinstance(target, Channel) and target.is_public and event.name == target.name,
                ends=event.ends,
                params=(event.msgid,),
                to=event.host,
                is_local=isinstance(target, Channel) and target.is_local,
            )
            if event.user.session is not None:
                self.wait_for(event.user.session, "REDACT", event.name)

    def _in_all_channels(self, moment: Moment, commands: tuple[str, str], user: User, text: str) -> None:
        """The second command where nobody on another host saw it: they know the user all the same."""
        command, unseen = commands
        shared = [channel for channel in user.channels.values() if not channel.is_local]
        local = [channel for channel in user.channels.values() if channel.is_local]
        for channels, is_local in ((shared, False), (local, True)):
            if channels and command in self._wanted:
                where = tuple((channel.name, channel.is_public) for channel in channels)
                self._add(moment, command, "", user, text, channels=where, is_local=is_local)
        if not shared:
            self.passing(moment, unseen, user, text=text)

    def _add(
        self,
        moment: Moment,
        command: str,
        target: str,
        user: User,
        text: str,
        *,
        tags: Mapping[str, str] = NO_TAGS,
        is_public: bool = False,
        ends: tuple[str, str] | None = None,
        channels: tuple[tuple[str, bool], ...] = (),
        params: tuple[str, ...] = (),
        to: str = "",
        is_local: bool = False,
    ) -> None:
        head = (moment.id, moment.at, command, target, user.mask, user.account, text, tags, is_public, ends)
        number = next(self._numbers)
        self.happened.append(Happening(*head, channels, params, "", number, to, is_local))
