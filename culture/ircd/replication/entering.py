"""What a host says about a channel just before one of its users joins it (ENTER)."""

from typing import NamedTuple

from culture.ircd.model.channel import Status
from culture.ircd.replication.stamps import Stamp, parse_stamp
from culture.names import Folded, fold
from culture.protocol.event_record import EventRecord


class Entering(NamedTuple):
    """The channel that the next JOIN of a host is about, as its ENTER event described it."""

    key: Folded
    made_at: float
    # The user becomes operator of the channel by joining it.
    is_operator: bool
    made_anew: Stamp


def entering_of(record: EventRecord) -> Entering:
    """Read an ENTER event. Raises ValueError."""
    made, granted, anew = record.params
    return Entering(fold(record.target), int(made) / 1000, granted == Status.OPERATOR, parse_stamp(anew))
