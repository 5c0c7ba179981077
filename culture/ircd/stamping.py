"""The stamp of a change that is made here: later than that of the last change of each thing it touches."""

from culture.ircd.bans import MASK_LISTS
from culture.ircd.channel import STATUSES, Channel, Setting, Status
from culture.ircd.events import Change, Joined, Kicked, MetadataChanged, ModesChanged, TopicChanged
from culture.ircd.modes import read_changes
from culture.ircd.stamps import NEVER, TOPIC, Stamp, mask_key, metadata_key
from culture.ircd.state import State


def stamp_change(event: Change, state: State, host: str, at: float) -> int:
    """Before the event is applied. In milliseconds; the clock of another host may be ahead of ours."""
    at_ms = int(at * 1000)
    match event:
        case Joined(user, channel):
            standing = user.standing_in(channel)
            stamp = Stamp(max(at_ms, standing.latest_ms + 1), host)
            standing.join(stamp)
            standing.made_at = channel.created_at
            if not channel.members:
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
        case _:
            return at_ms


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
    keys = [key_of(letter, param) for _, letter, param in changes if letter not in STATUSES]
    at_ms = _stamp(channel, keys, host, at_ms)
    for standing, status, adding in given:
        standing.give(status, Stamp(at_ms, host), present=adding)
    return at_ms


def split_changes(event: ModesChanged) -> list[tuple[bool, str, str]]:
    """Each change with its parameter, or with nothing."""
    params = iter(event.params)
    return [
        (adding, letter, next(params, "") if takes_parameter(letter, adding) else "")
        for adding, letter in read_changes(event.changes)
    ]


def takes_parameter(letter: str, adding: bool) -> bool:
    """As it is told: a key is named also when it is taken away."""
    if letter == Setting.LIMIT:
        return adding
    return letter in STATUSES or letter in MASK_LISTS or letter == Setting.KEY


def key_of(letter: str, param: str) -> str:
    return mask_key(letter, param) if letter in MASK_LISTS else letter
