"""Stamp local changes: later than the last change of everything they touch."""

from culture.ircd.authority.operators import becomes_operator
from culture.ircd.events import (
    Change,
    ChannelRenamed,
    Invited,
    Joined,
    Kicked,
    MetadataChanged,
    ModesChanged,
    TopicChanged,
)
from culture.ircd.model.ban_lists import MASK_LISTS
from culture.ircd.model.channel import STATUSES, Channel, Setting, Status
from culture.ircd.model.modes import read_changes
from culture.ircd.model.state import State
from culture.ircd.model.user import SignOn
from culture.ircd.replication.stamps import NEVER, TOPIC, Stamp, mask_key, metadata_key
from culture.names import fold


def stamp_change(event: Change, state: State, host: str, at: float) -> int:
    """Store the stamp of an event that is about to be applied, and return it in milliseconds.

    It may be later than the clock, because the clock of another host may be ahead of ours.
    """
    at_ms = int(at * 1000)
    match event:
        case Joined(user, channel):
            standing = user.standing_in(channel)
            # A channel of this name may have been renamed; that moves all who joined before its reset.
            stamp = Stamp(max(at_ms, standing.latest_ms + 1, channel.made_anew.at_ms + 1), host)
            standing.join(stamp)
            standing.made_at = channel.created_at
            if becomes_operator(user, channel):
                standing.give(Status.OPERATOR, stamp, present=True)
            return stamp.at_ms
        case Kicked(channel=channel, kicked=kicked):
            standing = kicked.standing_in(channel)
            stamp = Stamp(max(at_ms, standing.latest_ms + 1), host)
            standing.kick(stamp)
            return stamp.at_ms
        case TopicChanged(channel=channel):
            return _stamp(channel, [TOPIC], host, at_ms)
        case MetadataChanged(target=Channel() as channel, key=key):
            return _stamp(channel, [metadata_key(key)], host, at_ms)
        case ModesChanged():
            return _stamp_modes(event, state, host, at_ms)
        case ChannelRenamed(channel=channel, new_name=new_name) if fold(new_name) != channel.key:
            return _stamp_rename(channel, new_name, state, host, at_ms)
        case _:
            return at_ms


def users_named_in(event: Change, state: State) -> list[SignOn]:
    """Return the sign-ons of the users that a change names.

    Their nicks are not enough: the change may arrive before the users do, or after a nick change.
    """
    match event:
        case Joined(user) | Kicked(kicked=user) | Invited(invited=user):
            return [state.sign_on_of(user)]
        case ModesChanged():
            nicks = [param for _, letter, param in split_changes(event) if letter in STATUSES]
            return [state.sign_on_of(state.users[fold(nick)]) for nick in nicks]
        case _:
            return []


def _stamp(channel: Channel, keys: list[str], host: str, at_ms: int) -> int:
    last = [channel.made_anew, *(channel.stamps.get(key, NEVER) for key in keys)]
    at_ms = max(at_ms, max(last).at_ms + 1)
    channel.stamps.update(dict.fromkeys(keys, Stamp(at_ms, host)))
    return at_ms


def _stamp_modes(event: ModesChanged, state: State, host: str, at_ms: int) -> int:
    channel = event.channel
    changes = list(split_changes(event))
    given = [
        (user.standing_in(channel), Status(letter), adding)
        for adding, letter, param in changes
        if letter in STATUSES and (user := state.find_user(param)) is not None
    ]
    at_ms = max([at_ms, *(standing.latest_ms + 1 for standing, _, _ in given)])
    keys = [stamp_key(letter, param) for _, letter, param in changes if letter not in STATUSES]
    at_ms = _stamp(channel, keys, host, at_ms)
    for standing, status, adding in given:
        standing.give(status, Stamp(at_ms, host), present=adding)
    return at_ms


def _stamp_rename(channel: Channel, new_name: str, state: State, host: str, at_ms: int) -> int:
    """Stamp all settings anew, so that they win over those of an earlier channel of the new name."""
    left = state.empty_channels.pop(fold(new_name)) or Channel(new_name, 0.0)
    standings = [user.standing_in(channel).latest_ms + 1 for user in channel.members]
    stamp = Stamp(max(at_ms, *standings, channel.latest.at_ms + 1, left.latest.at_ms + 1), host)
    channel.stamps = dict.fromkeys(channel.stamps, stamp)
    channel.made_anew = max(channel.made_anew, left.latest)
    state.empty_channels.add_channel(Channel(channel.name, 0.0, made_anew=stamp))
    state.add_former_name(channel.key, channel, stamp)
    return stamp.at_ms


def split_changes(event: ModesChanged) -> list[tuple[bool, str, str]]:
    """Split a mode change into (adding, letter, parameter); the parameter may be empty."""
    params = iter(event.params)
    return [
        (adding, letter, next(params, "") if takes_parameter(letter, adding) else "")
        for adding, letter in read_changes(event.changes)
    ]


def takes_parameter(letter: str, adding: bool) -> bool:
    """Return whether a mode change as servers send it has a parameter: removing a key names it too."""
    if letter == Setting.LIMIT:
        return adding
    return letter in STATUSES or letter in MASK_LISTS or letter == Setting.KEY


def stamp_key(letter: str, param: str) -> str:
    """Return the key of a mode in `Channel.stamps`."""
    return mask_key(letter, param) if letter in MASK_LISTS else letter
