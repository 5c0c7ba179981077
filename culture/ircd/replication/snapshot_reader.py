"""Read and check the snapshot of another host, before any of it is applied."""

from collections.abc import Callable, Iterable
from typing import Final

from culture.ircd.authority.halts import Halt
from culture.ircd.model.ban_lists import MASK_BYTES, MASK_LISTS, ban_seen_from
from culture.ircd.model.channel import STATUSES, Setting, Status
from culture.ircd.model.metadata import is_key
from culture.ircd.model.modes import read_changes
from culture.ircd.model.user import SignOn
from culture.ircd.replication.next_stamp import takes_parameter
from culture.ircd.replication.snapshot_lines import (
    KINDS,
    METADATA,
    NOTHING,
    HostSnapshot,
    SettingChange,
    SnapshotChannel,
    SnapshotMembership,
    SnapshotStanding,
    SnapshotUser,
)
from culture.ircd.replication.stamps import NEVER, TOPIC, Stamp
from culture.names import HOST_LENGTH, Folded, fold
from culture.protocol.event_record import NAMED_TAG, SOURCE_LENGTH, EventRecord
from culture.protocol.line import Line, MalformedLine, parse_line
from culture.protocol.peers import validate
from culture.protocol.peers.events import check_halt

# The longest mask that a client may set, with the host of the account that it names.
MASK_LENGTH: Final = MASK_BYTES + HOST_LENGTH + 1


class SnapshotReader:
    """Reads and checks the lines of one snapshot."""

    def __init__(self, own: str, now: float | None) -> None:
        """`own` is the name of this host. With `now`, times too far in the future are refused."""
        self._own = own
        self._now = now
        self.known = HostSnapshot()
        # The members of one channel, as a `MEMBERS` event lists them.
        self.places: dict[Folded, SnapshotMembership] = {}

    def read(self, text: str) -> None:
        """Read one snapshot line. Raises MalformedLine for what `snapshot_lines` does not write."""
        line = parse_line(text)
        read = _READERS.get(line.command)
        if read is None or line.tags or line.source:
            raise MalformedLine(f"not a line of a snapshot: '{line.command[:32]}'")
        self._attempt(read, line)

    def read_member(self, text: str) -> None:
        """Read one line of a `MEMBERS` event. Raises MalformedLine."""
        line = parse_line(text)
        self._attempt(
            SnapshotReader._place_member if line.command == "IN" else SnapshotReader._standing, line
        )

    def _attempt(self, read: Callable[["SnapshotReader", Line], None], line: Line) -> None:
        try:
            read(self, line)
        except MalformedLine:
            raise
        except (ValueError, KeyError, IndexError) as error:
            raise MalformedLine(f"not a line of a snapshot: {line.command[:32]}, {error}") from None

    # Fields.

    def _time(self, text: str) -> float:
        return self._by_now(validate.time_ms(text)) / 1000

    def _stamp(self, text: str) -> Stamp:
        at_ms, host = validate.time_and_host(text)
        return Stamp(self._by_now(at_ms), host)

    def _sign_on(self, text: str) -> SignOn:
        at_ms, host = validate.time_and_host(text)
        return SignOn(self._by_now(at_ms), host)

    def _by_now(self, at_ms: int) -> int:
        return at_ms if self._now is None else validate.by_now(at_ms, self._now)

    # Lines.

    def _user(self, line: Line) -> None:
        # A process of an earlier version saved the line without the session id.
        nick, username, host, account, modes, signed_on, *session, realname = line.params
        validate.any_nick(nick)
        validate.user_name(username)
        validate.address(host)
        if len(nick) + len(username) + len(host) + 2 > SOURCE_LENGTH:
            raise validate.refuse("more than fits into a line", nick)
        if len(self.known.users) >= validate.USERS:
            raise MalformedLine(f"more than {validate.USERS} users on one host")
        self.known.users[fold(nick)] = SnapshotUser(
            nick,
            username,
            host,
            None if account == "*" else validate.account(account),
            validate.mode_letters(modes.removeprefix("+")),
            self._time(signed_on),
            validate.text_line(realname),
            validate.session_id(*session),
        )

    def _halt(self, line: Line) -> None:
        sign, stamp, by, why = line.params
        check_halt(sign, stamp, by, why)
        self.known.halt = Halt(sign == "+", self._stamp(stamp), by, why)

    def _away(self, line: Line) -> None:
        nick, text = line.params
        self.known.users[fold(nick)].away = validate.text_line(text)

    def _metadata(self, line: Line) -> None:
        nick, key, value = line.params
        published = self.known.users[fold(nick)].metadata
        if not is_key(key) or len(published) >= validate.METADATA_KEYS:
            raise validate.refuse("not a key of metadata, or one too many", key)
        published[key] = validate.text_line(value)

    def _place(self, line: Line) -> SnapshotMembership:
        name, _, made, joined = line.params
        return SnapshotMembership(validate.channel(name), self._time(made), self._stamp(joined))

    def _place_user(self, line: Line) -> None:
        name, nick, _, _ = line.params
        places = self.known.users[fold(nick)].places
        if len(places) >= validate.PLACES_OF_USER:
            raise MalformedLine(f"'{nick}' is in more than {validate.PLACES_OF_USER} channels")
        places[fold(name)] = self._place(line)

    def _place_member(self, line: Line) -> None:
        self.places[fold(validate.any_nick(line.params[1]))] = self._place(line)

    def _standing(self, line: Line) -> None:
        name, who, kicked, *given = line.params
        if line.command != "STAND" or len(given) > len(STATUSES):
            raise MalformedLine("not what somebody is in a channel")
        if any(each[:1] not in STATUSES or each[1:2] not in ("+", "-") for each in given):
            raise MalformedLine("not what somebody is in a channel")
        statuses = {Status(each[0]): (self._stamp(each[2:]), each[1] == "+") for each in given}
        standing = SnapshotStanding(validate.channel(name), self._sign_on(who), self._stamp(kicked), statuses)
        self.known.standings.append(standing)

    def _channel(self, line: Line) -> None:
        name, created, made_anew = line.params
        known = SnapshotChannel(validate.channel(name), self._time(created), self._stamp(made_anew))
        self._add_channel(known)

    def _add_channel(self, known: SnapshotChannel) -> SnapshotChannel:
        if len(self.known.channels) >= validate.STATE_CHANNELS:
            raise MalformedLine(f"more than {validate.STATE_CHANNELS} channels")
        self.known.channels[fold(known.name)] = known
        return known

    def _setting(self, line: Line) -> None:
        channel, kind, name, stamp, sign, set_by, set_at, value = line.params
        validate.channel(channel)
        if sign not in ("+", "-"):
            raise validate.refuse("neither set nor not", sign)
        word = "" if name == NOTHING else name
        by = "" if set_by == NOTHING else validate.word(set_by)
        if kind in MASK_LISTS:
            word = ban_seen_from(word, self._own, "")
        read = SettingChange(kind, word, self._stamp(stamp), sign == "+", value, by, self._time(set_at))
        check_setting(read)
        known = self.known.channels.get(fold(channel)) or self._add_channel(SnapshotChannel(channel))
        if len(known.settings) >= validate.SETTINGS_OF_CHANNEL:
            raise MalformedLine(f"more than {validate.SETTINGS_OF_CHANNEL} settings of one channel")
        known.settings.append(read)


def check_setting(setting: SettingChange) -> None:
    """Check the name and the value of a channel setting of another host. Raises MalformedLine."""
    kind, name, value = setting.kind, setting.name, setting.value
    if kind in MASK_LISTS:
        if not name or name.startswith(":"):
            raise validate.refuse("not a mask", name)
        validate.word(name, MASK_LENGTH)
    elif kind == METADATA:
        if not is_key(name):
            raise validate.refuse("not a key of metadata", name)
    elif name:
        raise validate.refuse(f"'{kind}' has no name", name)
    if kind in (TOPIC, METADATA):
        validate.text_line(value)
    elif kind == Setting.LIMIT and setting.is_set:
        if validate.whole_number(value, 1_000_000_000) == 0 or value.startswith("0"):
            raise validate.refuse("not a limit", value)
    elif kind == Setting.KEY and setting.is_set:
        if not value or value.startswith(":") or "," in value:
            raise validate.refuse("not a key", value)
        validate.word(value)
    else:
        validate.word(value)


def mode_setting(
    adding: bool, letter: str, param: str, stamp: Stamp, record: EventRecord, own: str
) -> SettingChange:
    """Return one change of a remote MODE that is not about a member's status. Raises MalformedLine."""
    name, value = "", param
    if letter in MASK_LISTS:
        name, value = ban_seen_from(param, own, record.origin), ""
    setting = SettingChange(letter, name, stamp, adding, value, record.source, record.at)
    check_setting(setting)
    return setting


def check_modes(record: EventRecord, own: str) -> None:
    """Check all changes of a remote MODE before it is recorded. Raises MalformedLine."""
    params = iter(record.params[1:])
    statuses = 0
    for adding, letter in read_changes(record.params[0]):
        param = next(params, "") if takes_parameter(letter, adding) else ""
        if letter in STATUSES:
            validate.any_nick(param)
            statuses += 1
        elif letter in KINDS:
            mode_setting(adding, letter, param, NEVER, record, own)
        else:
            raise validate.refuse("not a mode of a channel", letter)
    if NAMED_TAG in record.tags and len(record.tags[NAMED_TAG].split(",")) != statuses:
        raise MalformedLine("MODE names too many or too few users")


def read_snapshot(lines: Iterable[str], own: str, now: float | None = None) -> HostSnapshot:
    """Read a whole snapshot. Raises MalformedLine for what `snapshot_lines` does not write."""
    reader = SnapshotReader(own, now)
    for text in lines:
        reader.read(text)
    return reader.known


def read_members(text: str, own: str, now: float) -> tuple[HostSnapshot, dict[Folded, SnapshotMembership]]:
    """Read a `MEMBERS` event: who is in a channel, with their statuses. Raises MalformedLine."""
    reader = SnapshotReader(own, now)
    for line in text.split("\n"):
        if line:
            reader.read_member(line)
    return reader.known, reader.places


_READERS: Final = {
    "AWAY": SnapshotReader._away,
    "CHANNEL": SnapshotReader._channel,
    "HALT": SnapshotReader._halt,
    "IN": SnapshotReader._place_user,
    "META": SnapshotReader._metadata,
    "SET": SnapshotReader._setting,
    "STAND": SnapshotReader._standing,
    "USER": SnapshotReader._user,
}
