"""Write the users of one host and their channels as snapshot lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from culture.ircd.authority.halts import Halt
from culture.ircd.model.ban_lists import MASK_LISTS, MaskList, ban_for_others
from culture.ircd.model.channel import FLAGS, Channel, Flag, Setting, Status
from culture.ircd.model.state import State
from culture.ircd.model.user import SignOn, User, format_sign_on
from culture.ircd.replication.stamps import (
    NEVER,
    TOPIC,
    Stamp,
    Standing,
    format_stamp,
    mask_key,
    metadata_key,
)
from culture.names import Folded, fold
from culture.protocol.accounts import bare_account
from culture.protocol.line import format_line

METADATA: Final = "metadata"
NOTHING: Final = "-"
KINDS: Final = frozenset({TOPIC, METADATA, *FLAGS, *MASK_LISTS, *Setting})


@dataclass(frozen=True, slots=True)
class SettingChange:
    """The last change of one channel setting: its value, or that it was unset."""

    # `topic`, the letter of a mode, or `metadata`.
    kind: str
    # The mask of a list, or the key of metadata.
    name: str
    stamp: Stamp
    is_set: bool
    value: str = ""
    set_by: str = ""
    set_at: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"'{self.kind}' is not a kind of setting")

    @property
    def key(self) -> str:
        """Return the key of the setting in `Channel.stamps`."""
        if self.kind in MASK_LISTS:
            return mask_key(self.kind, self.name)
        return metadata_key(self.name) if self.kind == METADATA else self.kind


@dataclass(slots=True)
class SnapshotChannel:
    """A channel in a snapshot."""

    name: str
    created_at: float = 0.0
    made_anew: Stamp = NEVER
    settings: list[SettingChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SnapshotMembership:
    """A channel that a user is in."""

    name: str
    made_at: float
    joined: Stamp


@dataclass(frozen=True, slots=True)
class SnapshotStanding:
    """The statuses of a user in a channel, and when they were last kicked from it."""

    name: str
    who: SignOn
    kicked: Stamp
    statuses: dict[Status, tuple[Stamp, bool]]


@dataclass(slots=True)
class SnapshotUser:
    """A user as their own host knows them."""

    nick: str
    username: str
    host: str
    account: str | None
    modes: str
    signed_on_at: float
    realname: str
    session_id: str = ""
    away: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    places: dict[Folded, SnapshotMembership] = field(default_factory=dict)


@dataclass(slots=True)
class HostSnapshot:
    """The content of a whole snapshot."""

    users: dict[Folded, SnapshotUser] = field(default_factory=dict)
    channels: dict[Folded, SnapshotChannel] = field(default_factory=dict)
    standings: list[SnapshotStanding] = field(default_factory=list)
    # The last halt of the mesh that the host knows.
    halt: Halt | None = None

    @property
    def names(self) -> set[Folded]:
        """Return the channels that the snapshot is about."""
        places = {key for user in self.users.values() for key in user.places}
        return places | self.channels.keys() | {fold(standing.name) for standing in self.standings}


def snapshot_lines(state: State, own: str, origin: str, only: frozenset[Folded] | None) -> list[str]:
    """Return the users of a host, and the settings of the channels in `only`, or of all shared channels.

    An empty origin is this host, whose name is `own`. Channels without users of the origin are included:
    the receiver merges what is new to it.
    """
    lines: list[str] = []
    for user in state.users.values():
        if user.server == origin:
            within = [channel for channel in user.channels.values() if _is_within(channel, only)]
            if within or only is None:
                lines += user_lines(user, state, within)
    for channel in state.shared_channels():
        if _is_within(channel, only):
            lines += channel_lines(channel, own)
            lines += (line for user in state.users.values() for line in standing_lines(state, user, channel))
    return lines


def _is_within(channel: Channel, only: frozenset[Folded] | None) -> bool:
    return not channel.is_local and (only is None or channel.key in only)


def standing_lines(state: State, user: User, channel: Channel) -> Iterator[str]:
    """Yield a STAND line if a user has or had a status in a channel, or was kicked from it."""
    standing = user.standings.get(channel.key)
    if standing is not None and (standing.statuses or standing.kicked > NEVER):
        yield standing_line(channel.name, state.sign_on_of(user), standing)


def user_lines(user: User, state: State, within: Iterable[Channel]) -> Iterator[str]:
    """Yield the lines of one user and of their membership in some channels."""
    # Between hosts an account belongs to the host that its user is on.
    account = bare_account(user.account) if user.account else "*"
    who = (user.nick, user.username, user.host, account, "+" + "".join(sorted(user.modes)))
    session = (str(round(user.signed_on_at * 1000)), user.session_id or NOTHING)
    yield format_line("USER", *who, *session, user.realname, trailing=True)
    if user.away is not None:
        yield format_line("AWAY", user.nick, user.away, trailing=True)
    for key, value in state.metadata.of(user).items():
        yield format_line("META", user.nick, key, value, trailing=True)
    for channel in within:
        yield place_line(user, channel)


def place_line(user: User, channel: Channel) -> str:
    """Return the IN line: a user is in a channel."""
    standing = user.standing_in(channel)
    made = str(int(standing.made_at * 1000))
    return format_line("IN", channel.name, user.nick, made, format_stamp(standing.joined))


def standing_line(name: str, who: SignOn, standing: Standing) -> str:
    """Return the STAND line: the statuses and the last kick of a user in a channel."""
    given = [
        f"{status}{'+' if present else '-'}{format_stamp(stamp)}"
        for status, (stamp, present) in standing.statuses.items()
    ]
    return format_line("STAND", name, format_sign_on(who), format_stamp(standing.kicked), *given)


def channel_line(channel: Channel) -> str:
    """Return the CHANNEL line: when a channel was created and last reset."""
    times = (str(int(channel.created_at * 1000)), format_stamp(channel.made_anew))
    return format_line("CHANNEL", channel.name, *times)


def channel_lines(channel: Channel, own: str) -> Iterator[str]:
    """Yield the lines of a channel and of all its settings."""
    yield channel_line(channel)
    for setting in settings_of(channel):
        yield setting_line(channel, setting, own)


def setting_line(channel: Channel, setting: SettingChange, own: str) -> str:
    """Return the SET line of a setting."""
    name = ban_for_others(setting.name, own) if setting.kind in MASK_LISTS else setting.name
    what = (channel.name, setting.kind, name or NOTHING, format_stamp(setting.stamp))
    by = (setting.set_by or NOTHING, str(int(setting.set_at * 1000)))
    return format_line("SET", *what, "+" if setting.is_set else "-", *by, setting.value, trailing=True)


def settings_of(channel: Channel) -> Iterator[SettingChange]:
    """Yield the last change of every setting of a channel, also of those that were unset."""
    for key, stamp in channel.stamps.items():
        kind, _, name = key.partition(" ")
        yield _setting(channel, kind, name, stamp)


def _setting(channel: Channel, kind: str, name: str, stamp: Stamp) -> SettingChange:
    if kind == TOPIC:
        topic = channel.topic
        if topic is None:
            return SettingChange(kind, name, stamp, False)
        return SettingChange(kind, name, stamp, True, topic.text, topic.set_by, topic.set_at)
    if kind == METADATA:
        return SettingChange(kind, name, stamp, name in channel.metadata, channel.metadata.get(name, ""))
    if kind in FLAGS:
        return SettingChange(kind, name, stamp, Flag(kind) in channel.flags)
    if kind in MASK_LISTS:
        entry = channel.masks.find(MaskList(kind), name)
        if entry is None:
            return SettingChange(kind, name, stamp, False)
        return SettingChange(kind, entry.mask, stamp, True, "", entry.set_by, entry.set_at)
    value = channel.settings.get(Setting(kind))
    return SettingChange(kind, name, stamp, value is not None, value or "")
