"""Apply events of other hosts to the local state, and deliver them to local clients.

The events of one host arrive in the order of their numbers; events of different hosts have no order. When an
event arrives, its user may have another nick, its channel another name, and its message may be redacted.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from culture.ircd.authority.halting import halt_of, receive_halt
from culture.ircd.authority.marks import mark_remote
from culture.ircd.commands.messages.privmsg import call_absent
from culture.ircd.commands.people.chghost import show_host
from culture.ircd.commands.server.oper import call_out, put_out
from culture.ircd.delivery.message_lines import recipients_of, render_message
from culture.ircd.delivery.metadata_push import tell_newcomer, tell_watchers
from culture.ircd.delivery.monitor_push import tell_offline, tell_online
from culture.ircd.delivery.text import LINE_BYTES, fragments_of, size
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    HostChanged,
    Invited,
    Joined,
    Kicked,
    MetadataChanged,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Redacted,
    Renamed,
    Said,
    SpeechCommand,
)
from culture.ircd.model.channel import STATUSES, Channel, Status, status_of
from culture.ircd.model.metadata import is_key
from culture.ircd.model.user import NOBODY, SignOn, User, parse_sign_on
from culture.ircd.replication.apply_snapshot import SnapshotApplier
from culture.ircd.replication.entering import Entering, entering_of
from culture.ircd.replication.merge import ChannelMerge, StatusChange
from culture.ircd.replication.next_stamp import split_changes
from culture.ircd.replication.remote_users import (
    add_from_event,
    add_remote_user,
    announce_statuses,
    author_of,
    relay_kicked,
    relay_known,
    remove_if_in_no_channel,
    restore_empty_channel,
    set_modes,
    user_from_mask,
)
from culture.ircd.replication.rename import RemoteRename
from culture.ircd.replication.snapshot_lines import METADATA, SettingChange, SnapshotUser, standing_line
from culture.ircd.replication.snapshot_reader import check_setting, mode_setting, read_members, read_snapshot
from culture.ircd.replication.stamps import TOPIC, stamp_of
from culture.names import SIGNS, fold
from culture.protocol.accounts import account_at
from culture.protocol.event_record import LINES_TAG, NAMED_TAG, PROOF_TAG, EventRecord
from culture.protocol.line import MalformedLine
from culture.protocol.mentions import TAG as MENTIONS_TAG
from culture.protocol.peers import validate

if TYPE_CHECKING:
    from culture.ircd.server import Ircd

_SPEECH: Final[dict[str, SpeechCommand]] = {"PRIVMSG": "PRIVMSG", "NOTICE": "NOTICE", "TAGMSG": "TAGMSG"}
_Change = StatusChange | SettingChange


class EventApplier:
    """Applies events of other hosts, by the table at the end of this module."""

    def __init__(self, ircd: "Ircd") -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._is_replayed = False
        # The last ENTER of each host, until its JOIN.
        self._entering: dict[str, Entering] = {}

    def apply(self, record: EventRecord, *, is_replayed: bool = False) -> None:
        """Apply one event. Raises MalformedLine for one that no host of this version sends."""
        self._is_replayed = is_replayed
        try:
            self._dispatch(record)
        except MalformedLine:
            raise
        except (IndexError, KeyError, ValueError) as error:
            raise MalformedLine(f"{record.command} is malformed: {error}") from None

    def _dispatch(self, record: EventRecord) -> None:
        if (speech := _SPEECH.get(record.command)) is not None:
            self._said(record, speech)
        elif (apply := _TABLE.get(record.command)) is not None:
            apply(self, record)

    # Messages.

    def _said(self, record: EventRecord, command: SpeechCommand) -> None:
        target = self._addressed(record)
        if target is None or self._state.redactions.has(record.target, record.id):
            return
        sender = self._source(record)
        room = LINE_BYTES - size(f":{sender.mask} {command} {record.target} :")
        tags = {**record.tags}
        tags.pop(PROOF_TAG, None)
        lines = tags.pop(LINES_TAG, "")
        is_whole = "\n" not in record.text and size(record.text) <= room and not lines
        fragments = () if is_whole else fragments_of(record.text, room, lines)
        to = status_of(record.target)
        event = Said(sender, command, target, record.text, tags, (), to, fragments)
        event = mark_remote(self._ircd, event, record.origin, record.scope)
        sender.spoke_at = record.at if command == "PRIVMSG" else sender.spoke_at
        message = render_message(event, record.id, record.at)
        self._ircd.delivery.deliver_message(event, message, recipients_of(event))
        if isinstance(target, Channel) and to is None and MENTIONS_TAG in record.tags:
            called = map(self._here, record.tags[MENTIONS_TAG].split(","))
            call_absent(self._ircd, sender, target, tuple(user for user in called if user is not None))

    def _redact(self, record: EventRecord) -> None:
        if (target := self._addressed(record)) is not None:
            to = status_of(record.target)
            name = target.addressed(to) if isinstance(target, Channel) else target.nick
            about = (target, name, record.params[0], record.text, record.ends)
            self._apply(record, Redacted(self._source(record), *about))

    def _addressed(self, record: EventRecord) -> Channel | User | None:
        channel = record.target.lstrip(SIGNS)
        if channel.startswith("#"):
            return self._state.find_by_recent_name(channel)
        user = self._here(record.target)
        # Somebody else may have taken the nick while a direct message was on its way.
        return user if user is not None and user.is_recipient_of(record.ends) else None

    # Users.

    def _user(self, record: EventRecord) -> None:
        signed_on, modes, *session = record.params
        who, at = user_from_mask(record.source), int(signed_on) / 1000
        if self._state.find_user(who.nick) is None and self._has_room(record.origin):
            about = (record.account, modes.removeprefix("+"), at, record.text)
            known = SnapshotUser(who.nick, who.username, who.host, *about, validate.session_id(*session))
            tell_watchers(self._ircd, add_remote_user(self._ircd, record.origin, known))

    def _quit(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            self._apply(record, Quit(user, record.text))
            tell_offline(self._ircd, user.nick)

    def _rename_user(self, record: EventRecord) -> None:
        user = self._known(record)
        if user is None or self._state.find_user(record.text) not in (None, user):
            return
        old = user.nick
        self._apply(record, Renamed(user, record.text))
        if fold(old) != user.key:
            tell_offline(self._ircd, old)
            tell_online(self._ircd, user)
            tell_watchers(self._ircd, user)

    def _away(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            self._apply(record, AwayChanged(user, record.text or None))

    def _account(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            self._apply(record, AccountChanged(user, account_at(record.text, record.origin) or None))

    def _realname(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            self._apply(record, RealnameChanged(user, record.text))

    def _host(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            old, (username, host) = user.mask, record.params
            self._apply(record, HostChanged(user, username, host))
            show_host(self._ircd, user, old)

    def _modes_of_user(self, record: EventRecord) -> None:
        if (user := self._known(record)) is not None:
            set_modes(self._state, user, record.text)

    def _kill(self, record: EventRecord) -> None:
        """Kill a local user for an operator of another host."""
        [who] = self._named(record, [record.target])
        victim = self._state.signed_on.get(who)
        if victim is not None and victim.session is not None:
            put_out(self._ircd, victim.session, self._source(record), record.text)

    def _wallops(self, record: EventRecord) -> None:
        call_out(self._ircd, self._source(record), record.text)

    def _halt(self, record: EventRecord) -> None:
        if record.scope == "*":
            receive_halt(self._ircd, record.origin, halt_of(record))

    # Members of channels.

    def _enter(self, record: EventRecord) -> None:
        self._entering[record.origin] = entering_of(record)

    def _join(self, record: EventRecord) -> None:
        entering = self._entering.pop(record.origin, None)
        if entering is None or entering.key != fold(record.target):
            entering = None
        [who] = self._named(record, [record.source.partition("!")[0]])
        if who.host not in (record.origin, NOBODY.host):
            raise ValueError("it is about a user of another host")
        if who not in self._state.signed_on and not self._has_room(record.origin):
            return
        # A replayed event may carry an older nick than the one that is known here.
        user = self._state.signed_on.get(who) or add_from_event(self._ircd, record, who, self._known(record))
        channel = self._channel_to_join(record, entering)
        standing, stamp = user.standing_in(channel), stamp_of(record)
        if not standing.join(stamp) or user in channel.members:
            return
        standing.made_at = entering.made_at if entering is not None else channel.created_at
        if entering is not None and entering.is_operator:
            standing.give(Status.OPERATOR, stamp, present=True)
        self._apply(record, Joined(user, channel))
        announce_statuses(self._ircd, user, channel)
        if user.away is not None:
            self._apply(record, AwayChanged(user, user.away, newcomer_to=channel))
        tell_newcomer(self._ircd, user, channel)

    def _channel_to_join(self, record: EventRecord, entering: Entering | None) -> Channel:
        """Return the existing channel, the tombstone of an empty one, or a new channel."""
        channel = self._state.find_shared(record.target) or restore_empty_channel(self._ircd, record.target)
        if channel is None:
            channel = Channel(record.target, record.at if entering is None else entering.made_at)
        if entering is not None:
            merge = ChannelMerge(self._ircd, channel, self._source(record), record.id, record.at)
            merge.merge(made_anew=entering.made_anew)
        return channel

    def _part(self, record: EventRecord) -> None:
        user, channel = self._known(record), self._state.find_shared(record.target)
        if user is None:
            return
        if channel is not None and user in channel.members:
            if record.command == "LEFT" and record.params:
                self._apply(record, Kicked(user_from_mask(record.params[0]), channel, user, record.text))
            else:
                self._apply(record, Parted(user, channel, record.text))
        self._drop_if_unseen(record, user)

    def _kick(self, record: EventRecord) -> None:
        [who], channel = self._named(record, record.params[:1]), self._channel(record)
        kicked, standing = self._state.signed_on.get(who), self._state.standing_of(who, channel.name)
        is_out = standing.kick(stamp_of(record))
        if self._is_replayed and standing.kicked == stamp_of(record):
            relay_known(self._ircd, channel.name, [standing_line(channel.name, who, standing)])
        if kicked is not None and is_out and kicked in channel.members:
            self._apply(record, Kicked(self._source(record), channel, kicked, record.text))
            relay_kicked(self._ircd, kicked, channel, record.source, record.text)
            if kicked.server == record.origin:
                # The kick of a third host's user ends up here by that host too, maybe by a wider route.
                self._drop_if_unseen(record, kicked)

    def _invite(self, record: EventRecord) -> None:
        [who], channel = self._named(record, record.params[:1]), self._state.find_shared(record.target)
        invited = self._state.signed_on.get(who)
        if invited is not None and channel is not None:
            self._apply(record, Invited(self._source(record), channel, invited))

    # Channel settings.

    def _topic(self, record: EventRecord) -> None:
        value = (bool(record.text), record.text, record.source, record.at)
        self._set(record, SettingChange(TOPIC, "", stamp_of(record), *value))

    def _metadata(self, record: EventRecord) -> None:
        key, sign = record.params
        if not is_key(key):
            raise ValueError(f"'{key}' is not a key of metadata")
        if record.target.startswith("#"):
            self._set(record, SettingChange(METADATA, key, stamp_of(record), sign == "+", record.text))
        elif (user := self._known(record)) is not None:
            value = record.text if sign == "+" else None
            if value is not None and len(user.metadata) >= validate.METADATA_KEYS:
                return
            self._apply(record, MetadataChanged(user, user, key, value))

    def _set(self, record: EventRecord, setting: SettingChange) -> None:
        check_setting(setting)
        self._merge(record, self._channel(record), [setting])

    def _modes(self, record: EventRecord) -> None:
        channel, stamp, source = self._channel(record), stamp_of(record), self._source(record)
        changes = split_changes(ModesChanged(source, channel, record.params[0], record.params[1:]))
        named = iter(self._named(record, [param for _, letter, param in changes if letter in STATUSES]))
        settings = [
            StatusChange(next(named), Status(letter), stamp, adding)
            if letter in STATUSES
            else mode_setting(adding, letter, param, stamp, record, self._ircd.name)
            for adding, letter, param in changes
        ]
        self._merge(record, channel, settings)

    def _merge(self, record: EventRecord, channel: Channel, changes: Sequence[_Change]) -> None:
        merge = ChannelMerge(self._ircd, channel, self._source(record), record.id, record.at)
        merge.merge(changes)
        if self._is_replayed:
            # Hosts that could not reach the origin meanwhile may only record the event without applying it.
            relay_known(self._ircd, channel.name, merge.news)

    def _known_elsewhere(self, record: EventRecord) -> None:
        """Merge what a host learned about a channel from the snapshot of another."""
        known = read_snapshot([record.text], self._ircd.name, self._ircd.clock())
        if known.names != {fold(record.target)}:
            raise ValueError("it is about another channel")
        SnapshotApplier(self._ircd, record.origin, known, self._ircd.delivery).merge_news()

    def _rename_channel(self, record: EventRecord) -> None:
        by, stamp = self._source(record), stamp_of(record)
        RemoteRename(self._ircd, record, by, stamp, is_replayed=self._is_replayed).apply()

    def _members(self, record: EventRecord) -> None:
        known, places = read_members(record.text, self._ircd.name, self._ircd.clock())
        if not known.names | {fold(place.name) for place in places.values()} <= {fold(record.target)}:
            raise ValueError("it is about another channel")
        applier = SnapshotApplier(self._ircd, record.origin, known, self._ircd.delivery)
        applier.place(record.target, places, *record.params)

    # Lookups.

    def _has_room(self, host: str) -> bool:
        return len(self._state.remote_users.get(host, ())) < validate.USERS

    def _channel(self, record: EventRecord) -> Channel:
        """Return the channel of the event, or its tombstone if it is empty or renamed by now."""
        return self._state.find_shared(record.target) or self._state.find_empty_channel(record.target)

    def _apply(self, record: EventRecord, event: Change) -> None:
        self._ircd.apply_change(event, record.id, record.at)

    def _known(self, record: EventRecord) -> User | None:
        """Return the event's source if that is a known user of the event's origin."""
        user = self._state.find_user(record.source.partition("!")[0])
        return user if user is not None and user.server == record.origin else None

    def _named(self, record: EventRecord, nicks: Sequence[str]) -> list[SignOn]:
        """Return the users that the event is about; events of older versions have only their nicks."""
        if NAMED_TAG in record.tags:
            named = [*map(parse_sign_on, record.tags[NAMED_TAG].split(","))]
            if len(named) != len(nicks):
                raise ValueError("it names too many or too few users")
            return named
        users = map(self._state.find_by_recent_nick, nicks)
        return [NOBODY if user is None else self._state.sign_on_of(user) for user in users]

    def _here(self, nick: str) -> User | None:
        """Return the local user with this nick."""
        user = self._state.find_by_recent_nick(nick)
        return user if user is not None and not user.server else None

    def _source(self, record: EventRecord) -> User:
        """Return the event's source, made up from the event if unknown: a bridge speaks for such users."""
        return self._known(record) or author_of(record)

    def _drop_if_unseen(self, record: EventRecord, user: User) -> None:
        """Remove a user without channels if a limited link would not report what becomes of them."""
        if record.scope != "*":
            remove_if_in_no_channel(self._ircd, user)


_TABLE: Final[dict[str, Callable[[EventApplier, EventRecord], None]]] = {
    "ACCOUNT": EventApplier._account,
    "AWAY": EventApplier._away,
    "CHGHOST": EventApplier._host,
    "ENTER": EventApplier._enter,
    "GONE": EventApplier._quit,
    "HALT": EventApplier._halt,
    "INVITE": EventApplier._invite,
    "JOIN": EventApplier._join,
    "KICK": EventApplier._kick,
    "KILL": EventApplier._kill,
    "KNOWN": EventApplier._known_elsewhere,
    "LEFT": EventApplier._part,
    "MEMBERS": EventApplier._members,
    "META": EventApplier._metadata,
    "MODE": EventApplier._modes,
    "NAMED": EventApplier._rename_user,
    "NICK": EventApplier._rename_user,
    "PART": EventApplier._part,
    "QUIT": EventApplier._quit,
    "REDACT": EventApplier._redact,
    "RENAME": EventApplier._rename_channel,
    "SETNAME": EventApplier._realname,
    "TOPIC": EventApplier._topic,
    "UMODE": EventApplier._modes_of_user,
    "USER": EventApplier._user,
    "WALLOPS": EventApplier._wallops,
}
