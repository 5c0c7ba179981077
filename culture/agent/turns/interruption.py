"""Why a turn is interrupted, and what becomes of the messages that it was to answer."""

from dataclasses import dataclass
from enum import Enum, auto


class Fate(Enum):
    """What becomes of the messages of an interrupted turn."""

    # They expire, and their senders are told that the turn failed.
    GIVEN_UP = auto()
    # They are queued again, and the next turn repeats them.
    REPEATED = auto()
    # Somebody stopped them: they are finished, and their senders are told by whom.
    STOPPED = auto()


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why a turn is interrupted."""

    # One line for people to read.
    why: str
    fate: Fate
    # Where else on IRC it is reported, besides the conversations of the messages.
    place: str = ""


# The outcome of a turn that was interrupted, as the journal and the transcript name it.
OUTCOMES = {Fate.GIVEN_UP: "failed", Fate.REPEATED: "interrupted", Fate.STOPPED: "stopped"}
