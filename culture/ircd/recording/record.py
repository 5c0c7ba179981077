"""Collect the event records of one tick until they are committed; delivery follows the commit."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from culture.ircd.delivery.message_lines import tags_of
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
from culture.ircd.model.channel import PREFIXES, Channel, Flag, Setting, Status
from culture.ircd.model.user import SignOn, User, format_sign_on
from culture.ircd.replication.stamps import format_stamp
from culture.ircd.session import Session
from culture.ircd.skills import EventRecord, Skills
from culture.protocol.event_record import (
    GENERATION_SHIFT,
    LINES_TAG,
    LINKS_ONLY,
    MADE_TAG,
    NAMED_TAG,
    STAMP_TAG,
)
from culture.protocol.line import NO_TAGS
from culture.protocol.multiline import composition
from culture.protocol.parties import Party

_new = tuple.__new__

# The number of events in one tick after which the driver commits and delivers before it reads more. Larger
# batches do not fit the processor caches: 500 pairs with 256 messages in flight each sent 228,000 messages a
# second with history without this bound, and 381,000 with it.
FULL: Final = 1000


# The estimated size of a history row without its text: names, times and index entries.
ROW_BYTES: Final = 200

# The session, command and target of a message, to report that it could not be committed.
Sender = tuple[Session, str, str]


class Moment(NamedTuple):
    """The time and msgid of a change, and its stamp for last-writer-wins."""

    # The msgid; empty for events that no client sees.
    id: str
    at: float
    # The stamp against other changes of the same thing: its time, or just after the last stamp.
    stamp_ms: int = 0

    # The users that the change names.
    named: Sequence[SignOn] = ()

    @property
    def tags(self) -> Mapping[str, str]:
        """Return the tags of the record that links send."""
        tags = {STAMP_TAG: str(self.stamp_ms)} if self.stamp_ms > int(self.at * 1000) else NO_TAGS
        return {**tags, NAMED_TAG: ",".join(map(format_sign_on, self.named))} if self.named else tags


class Record:
    """Builds event records for skills and links, and numbers them."""

    def __init__(self, skills: Skills, generation: int) -> None:
        self._wanted = skills.wanted
        # Whether any skill or link wants records.
        self.is_wanted = bool(skills.wanted)
        self.events: list[EventRecord] = []
        self.senders: list[Sender] = []
        self.begin(generation)

    def begin(self, generation: int) -> None:
        """Number records in a new generation; all earlier numbers are lower."""
        self.generation = generation
        self._numbers = itertools.count((generation << GENERATION_SHIFT) + 1)

    def want(self, commands: frozenset[str]) -> None:
        """Record these commands too, besides those that skills want."""
        self._wanted |= commands
        self.is_wanted = True

    @property
    def is_full(self) -> bool:
        """Return whether the driver should commit before it reads more."""
        return len(self.events) >= FULL

    def take(self) -> tuple[Sequence[EventRecord], Sequence[Sender]]:
        """Return the records since the last call, and the senders of their messages."""
        taken = self.events, self.senders
        self.events, self.senders = [], []
        return taken

    def add_remote(self, event: EventRecord) -> None:
        """Add a record of another host, which has a number already."""
        if event.command in self._wanted:
            self.events.append(event)

    def said(self, event: Said, msgid: str, at: float) -> None:
        """Record a message."""
        tags = tags_of(event) if event.mentioned or event.sender.modes else event.tags
        if event.fragments and (lines := composition(event.fragments)):
            tags = {**tags, LINES_TAG: lines}
        self.add_message(event.sender, event.command, event.target, event.text, tags, event.to, msgid, at)

    def add_message(
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
        """Record a message without a `Said` event. `tags` are the client tags that recipients get."""
        if command not in self._wanted:
            return
        if isinstance(target, Channel):
            name, is_public, is_local = target.name, to is None and target.is_public, target.is_local
            ends, host = None, ""
            if to is not None:
                name = PREFIXES[to] + name
        else:
            # Direct messages between users of this host are not sent to other hosts.
            name, is_public, is_local = target.nick, False, not target.server
            ends, host = (sender.party, target.party), target.server
        # All fields by position: keywords or defaults take four times as long.
        values = (
            msgid, at, command, name, sender.mask, sender.account, text, tags, is_public, ends, (), (), "",
            next(self._numbers), host, is_local, "*", sender.unnamed_session_id,
        )  # fmt: skip
        self.events.append(_new(EventRecord, values))
        if sender.session is not None:
            self.charge_sender(sender.session, command, name)

    def charge_sender(self, session: Session, command: str, name: str) -> None:
        """Charge the last message to its sender, who is also told if the commit fails."""
        if self.events:
            self.senders.append((session, command, name))
            text, tags = self.events[-1][6:8]
            session.recorded_bytes += ROW_BYTES + (len(text) if text.isascii() else len(text.encode()))
            if tags:
                session.recorded_bytes += sum(map(len, tags)) + sum(map(len, tags.values()))

    def changed(self, event: Change, moment: Moment) -> None:
        """Record a change. Call this before the state applies it."""
        match event:
            case Joined(user, channel):
                made_at = str(int(channel.created_at * 1000))
                is_operator = Status.OPERATOR in user.standing_in(channel).held
                granted = Status.OPERATOR if is_operator else "-"
                about = (made_at, granted, format_stamp(channel.made_anew))
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
                self.add_for_links(moment, "AWAY", user, text=away or "")
            case AccountChanged(user, account):
                self.add_for_links(moment, "ACCOUNT", user, text=account or "")
            case RealnameChanged(user, realname):
                self.add_for_links(moment, "SETNAME", user, text=realname)
            case HostChanged(user, username, host):
                self.add_for_links(moment, "CHGHOST", user, params=(username, host))
            case MarkerMoved(user, target, timestamp):
                self._of_account(moment, "MARKREAD", target, user, user.account, timestamp)
            case MetadataChanged():
                self._published(moment, event)
            case Redacted():
                self._redacted(moment, event)

    def user_arrived(self, moment: Moment, user: User, metadata: Mapping[str, str]) -> None:
        """Record that a user registered."""
        signed_on, modes = str(round(user.signed_on_at * 1000)), "+" + "".join(sorted(user.modes))
        about = (signed_on, modes, user.session_id or "-")
        self.add_for_links(moment, "USER", user, text=user.realname, params=about)
        if user.away is not None:
            self.add_for_links(moment, "AWAY", user, text=user.away)
        for key, value in metadata.items():
            self.add_for_links(moment, "META", user, user.nick, value, (key, "+"))

    def add_for_links(
        self,
        moment: Moment,
        command: str,
        user: User,
        target: str = "",
        text: str = "",
        params: tuple[str, ...] = (),
    ) -> None:
        """Record an event of a user that other hosts need and history does not keep."""
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
                # A change of the key stays private also when it opens the channel: the key may be set again.
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
        """Record a read marker or metadata of an account; without an account nothing is kept."""
        if command in self._wanted and account is not None:
            event = EventRecord(moment.id, moment.at, command, target, user.mask, account, text)
            self.events.append(event._replace(params=params, seq=next(self._numbers), is_local=True))

    def _published(self, moment: Moment, event: MetadataChanged) -> None:
        user, target, key, value = event.user, event.target, event.key, event.value
        params_of_key = (key, "-" if value is None else "+")
        if isinstance(target, Channel):
            self._in_channel(moment, "META", target, user, value or "", params_of_key)
        else:
            params = (key,) if value is None else (key, value)
            self._of_account(moment, "METADATA", target.nick, user, target.account, params=params)
            self.add_for_links(moment, "META", user, target.nick, value or "", params_of_key)

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
                is_local=target.is_local if isinstance(target, Channel) else not event.host,
            )
            if event.user.session is not None:
                self.charge_sender(event.user.session, "REDACT", event.name)

    def _in_all_channels(self, moment: Moment, commands: tuple[str, str], user: User, text: str) -> None:
        """Record an event of a user in all their channels.

        The second command goes to other hosts if the user shares no channel with them.
        """
        command, unseen = commands
        shared = [channel for channel in user.channels.values() if not channel.is_local]
        local = [channel for channel in user.channels.values() if channel.is_local]
        for channels, is_local in ((shared, False), (local, True)):
            if channels and command in self._wanted:
                where = tuple((channel.name, channel.is_public) for channel in channels)
                self._add(moment, command, "", user, text, channels=where, is_local=is_local)
        if not shared:
            self.add_for_links(moment, unseen, user, text=text)

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
        ends: tuple[Party, Party] | None = None,
        channels: tuple[tuple[str, bool], ...] = (),
        params: tuple[str, ...] = (),
        to: str = "",
        is_local: bool = False,
    ) -> None:
        head = (moment.id, moment.at, command, target, user.mask, user.account, text, tags, is_public, ends)
        number = next(self._numbers)
        session_id = user.unnamed_session_id
        self.events.append(
            EventRecord(*head, channels, params, "", number, to, is_local, session_id=session_id)
        )
        if user.session is not None and command not in LINKS_ONLY:
            user.session.recorded_bytes += ROW_BYTES * max(len(channels), 1) + len(text)
