"""A snapshot of the users of one host and of their channels, as lines, and back."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.ircd.bans import MASK_LISTS, MaskList
from culture.ircd.channel import FLAGS, STATUSES, Channel, Flag, Setting, Status
from culture.ircd.mesh.claims import channel_named, check_user
from culture.ircd.stamps import (
    NEVER,
    TOPIC,
    Stamp,
    Standing,
    format_stamp,
    mask_key,
    metadata_key,
    parse_stamp,
)
from culture.ircd.state import State
from culture.ircd.user import SignOn, User, format_sign_on, parse_sign_on
from culture.names import Folded, fold
from culture.protocol.line import Line, MalformedLine, format_line, parse_line

METADATA: Final = "metadata"
NOTHING: Final = "-"
_KINDS: Final = frozenset({TOPIC, METADATA, *FLAGS, *MASK_LISTS, *Setting})


@dataclass(frozen=True, slots=True)
class Set:
    """The last change of one thing in a channel: what it is now, or that it is not set any more."""

    kind: str
    """`topic`, the letter of a mode, or `metadata`."""
    name: str
    """The mask of a list, or the key of metadata."""
    stamp: Stamp
    is_set: bool
    value: str = ""
    set_by: str = ""
    set_at: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"nothing is set by '{self.kind}'")

    @property
    def key(self) -> str:
        if self.kind in MASK_LISTS:
            return mask_key(self.kind, self.name)
        return metadata_key(self.name) if self.kind == METADATA else self.kind


@dataclass(slots=True)
class KnownChannel:
    name: str
    created_at: float = 0.0
    made_anew: Stamp = NEVER
    settings: list[Set] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """A channel that somebody is in."""

    name: str
    made_at: float
    joined: Stamp


@dataclass(frozen=True, slots=True)
class KnownStanding:
    """What somebody was given in a channel, and when they were put out of it."""

    name: str
    who: SignOn
    kicked: Stamp
    statuses: dict[Status, tuple[Stamp, bool]]


@dataclass(slots=True)
class KnownUser:
    """Somebody as their host knows them."""

    nick: str
    username: str
    host: str
    account: str | None
    modes: str
    signed_on_at: float
    realname: str
    away: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    places: dict[Folded, KnownPlace] = field(default_factory=dict)


@dataclass(slots=True)
class Known:
    """All of a snapshot."""

    users: dict[Folded, KnownUser] = field(default_factory=dict)
    channels: dict[Folded, KnownChannel] = field(default_factory=dict)
    standings: list[KnownStanding] = field(default_factory=list)

    @property
    def names(self) -> set[Folded]:
        """The channels that it is about."""
        places = {key for user in self.users.values() for key in user.places}
        return places | self.channels.keys() | {fold(standing.name) for standing in self.standings}


# Writing.


def snapshot_lines(state: State, origin: str, only: frozenset[Folded] | None) -> list[str]:
    """Who is on a host (empty: this one), and what is known of some channels, or of all that are not local.

    Also where nobody of that host is: whoever hears of it takes what is news to them.
    """
    lines: list[str] = []
    for user in state.users.values():
        if user.server == origin:
            within = [channel for channel in user.channels.values() if _is_within(channel, only)]
            if within or only is None:
                lines += user_lines(user, state, within)
    for channel in state.shared_channels():
        if _is_within(channel, only):
            lines += channel_lines(channel)
            lines += (line for user in state.users.values() for line in standing_lines(state, user, channel))
    return lines


def _is_within(channel: Channel, only: frozenset[Folded] | None) -> bool:
    return not channel.is_local and (only is None or channel.key in only)


def standing_lines(state: State, user: User, channel: Channel) -> Iterator[str]:
    """One, if somebody was given anything in a channel, or was put out of it."""
    standing = user.standings.get(channel.key)
    if standing is not None and (standing.statuses or standing.kicked > NEVER):
        yield standing_line(channel.name, state.sign_on_of(user), standing)


def user_lines(user: User, state: State, within: Iterable[Channel]) -> Iterator[str]:
    who = (user.nick, user.username, user.host, user.account or "*", "+" + "".join(sorted(user.modes)))
    yield format_line("USER", *who, str(round(user.signed_on_at * 1000)), user.realname, trailing=True)
    if user.away is not None:
        yield format_line("AWAY", user.nick, user.away, trailing=True)
    for key, value in state.metadata.of(user).items():
        yield format_line("META", user.nick, key, value, trailing=True)
    for channel in within:
        yield place_line(user, channel)


def place_line(user: User, channel: Channel) -> str:
    standing = user.standing_in(channel)
    made = str(int(standing.made_at * 1000))
    return format_line("IN", channel.name, user.nick, made, format_stamp(standing.joined))


def standing_line(name: str, who: SignOn, standing: Standing) -> str:
    given = [
        f"{status}{'+' if present else '-'}{format_stamp(stamp)}"
        for status, (stamp, present) in standing.statuses.items()
    ]
    return format_line("STAND", name, format_sign_on(who), format_stamp(standing.kicked), *given)


def channel_line(channel: Channel) -> str:
    times = (str(int(channel.created_at * 1000)), format_stamp(channel.made_anew))
    return format_line("CHANNEL", channel.name, *times)


def channel_lines(channel: Channel) -> Iterator[str]:
    yield channel_line(channel)
    for setting in settings_of(channel):
        yield setting_line(channel, setting)


def setting_line(channel: Channel, setting: Set) -> str:
    what = (channel.name, setting.kind, setting.name or NOTHING, format_stamp(setting.stamp))
    by = (setting.set_by or NOTHING, str(int(setting.set_at * 1000)))
    return format_line("SET", *what, "+" if setting.is_set else "-", *by, setting.value, trailing=True)


def settings_of(channel: Channel) -> Iterator[Set]:
    """All that was ever set there."""
    for key, stamp in channel.stamps.items():
        kind, _, name = key.partition(" ")
        yield _setting(channel, kind, name, stamp)


def _setting(channel: Channel, kind: str, name: str, stamp: Stamp) -> Set:
    if kind == TOPIC:
        topic = channel.topic
        if topic is None:
            return Set(kind, name, stamp, False)
        return Set(kind, name, stamp, True, topic.text, topic.set_by, topic.set_at)
    if kind == METADATA:
        return Set(kind, name, stamp, name in channel.metadata, channel.metadata.get(name, ""))
    if kind in FLAGS:
        return Set(kind, name, stamp, Flag(kind) in channel.flags)
    if kind in MASK_LISTS:
        entry = channel.masks.find(MaskList(kind), name)
        if entry is None:
            return Set(kind, name, stamp, False)
        return Set(kind, entry.mask, stamp, True, "", entry.set_by, entry.set_at)
    value = channel.settings.get(Setting(kind))
    return Set(kind, name, stamp, value is not None, value or "")


# Reading.


def read_lines(lines: Sequence[str]) -> Known:
    """Raises MalformedLine for what `snapshot_lines` did not write."""
    known = Known()
    for text in lines:
        line = parse_line(text)
        read = _READERS.get(line.command)
        if read is None:
            raise MalformedLine(f"no part of a snapshot: '{line.command}'")
        try:
            read(known, line)
        except (ValueError, KeyError, IndexError) as error:
            raise MalformedLine(f"no part of a snapshot: {error}") from None
    return known


def read_members(text: str) -> tuple[Known, dict[Folded, KnownPlace]]:
    """Who is in one channel, and what they are there, as lines of a snapshot. Raises ValueError."""
    known, places = Known(), dict[Folded, KnownPlace]()
    for line in [parse_line(line) for line in text.split("\n") if line]:
        if line.command == "IN":
            places[fold(line.params[1])] = _place(line)
        else:
            _read_standing(known, line)
    return known, places


def _place(line: Line) -> KnownPlace:
    name, _, made, joined = line.params
    return KnownPlace(channel_named(name), int(made) / 1000, parse_stamp(joined))


def _read_user(known: Known, line: Line) -> None:
    nick, username, host, account, modes, signed_on, realname = line.params
    check_user(nick, username, host)
    known.users[fold(nick)] = KnownUser(
        nick,
        username,
        host,
        None if account == "*" else account,
        modes.removeprefix("+"),
        int(signed_on) / 1000,
        realname,
    )


def _read_away(known: Known, line: Line) -> None:
    nick, text = line.params
    known.users[fold(nick)].away = text


def _read_metadata(known: Known, line: Line) -> None:
    nick, key, value = line.params
    known.users[fold(nick)].metadata[key] = value


def _read_place(known: Known, line: Line) -> None:
    name, nick, _, _ = line.params
    known.users[fold(nick)].places[fold(name)] = _place(line)


def _read_standing(known: Known, line: Line) -> None:
    name, who, kicked, *given = line.params
    statuses = {
        Status(each[0]): (parse_stamp(each[2:]), each[1] == "+") for each in given if each[0] in STATUSES
    }
    known.standings.append(
        KnownStanding(channel_named(name), parse_sign_on(who), parse_stamp(kicked), statuses)
    )


def _read_channel(known: Known, line: Line) -> None:
    name, created, made_anew = line.params
    known.channels[fold(name)] = KnownChannel(
        channel_named(name), int(created) / 1000, parse_stamp(made_anew)
    )


def _read_setting(known: Known, line: Line) -> None:
    channel, kind, name, stamp, sign, set_by, set_at, value = line.params
    word = "" if name == NOTHING else name
    by = "" if set_by == NOTHING else set_by
    read = Set(kind, word, parse_stamp(stamp), sign == "+", value, by, int(set_at) / 1000)
    known.channels.setdefault(fold(channel), KnownChannel(channel_named(channel))).settings.append(read)


_READERS: Final = {
    "AWAY": _read_away,
    "CHANNEL": _read_channel,
    "IN": _read_place,
    "META": _read_metadata,
    "SET": _read_setting,
    "STAND": _read_standing,
    "USER": _read_user,
}
