"""Decide which events may cross a link that is limited to some channels."""

from typing import Final

from culture.names import SIGNS, Folded, fold
from culture.protocol.event_record import EventRecord

# Events about more than one channel, which only unlimited links carry.
BEYOND: Final = frozenset({"MEMBERS", "RENAME"})
# Events that are seen in all channels of a user and list these instead of a target.
IN_ALL_CHANNELS: Final = frozenset({"QUIT", "NICK"})


def place_of(record: EventRecord) -> Folded | None:
    """Return the folded channel of an event, or None if it is not an event of one channel."""
    name = record.target.lstrip(SIGNS)
    return fold(name) if name.startswith("#") else None


def is_all_within(record: EventRecord, channels: frozenset[Folded]) -> bool:
    """Return whether an event is wholly within these channels, so that a peer limited to them may send it.

    An event with both a target (or the ends of a direct message) and a list of channels is refused: it would
    count as an event of one channel and be stored in another.
    """
    if record.ends is not None or record.to:
        return False
    if record.channels:
        is_everywhere = record.command in IN_ALL_CHANNELS and not record.target
        return is_everywhere and all(fold(name) in channels for name, _ in record.channels)
    return record.command not in BEYOND and place_of(record) in channels
