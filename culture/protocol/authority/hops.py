"""Count how often agents took over from each other since a person spoke (`extensions/hops.md`)."""

from collections import OrderedDict
from typing import Final, TypeVar

Key = TypeVar("Key")

# Conversations beyond this number are forgotten, the quietest first.
MOST_CONVERSATIONS: Final = 4096
# The highest count that is told.
MOST_HOPS: Final = 9999


class HopCounter:
    """The counts of all conversations: channels, and direct messages between two agents.

    Several messages of one agent in a row count as one.
    """

    def __init__(self) -> None:
        # The last agent that spoke in each channel, and the hops up to that message.
        self._channels: OrderedDict[str, tuple[str, int]] = OrderedDict()
        # The same for direct messages, by both nicks.
        self._direct: OrderedDict[frozenset[str], tuple[str, int]] = OrderedDict()

    def agent_spoke_in(self, channel: str, agent: str) -> int:
        """Count a message of an agent in a channel and return the hops up to it."""
        return _count(self._channels, channel, agent)

    def agent_spoke_to(self, other: str, agent: str) -> int:
        """Count a direct message of an agent to another and return the hops up to it."""
        return _count(self._direct, frozenset((other, agent)), agent)

    def person_spoke_in(self, channel: str) -> None:
        """Begin again in a channel, because a person spoke there."""
        self._channels.pop(channel, None)

    def person_addressed(self, agent: str) -> None:
        """Begin again in the direct messages of an agent, because a person spoke to it anywhere."""
        for pair in [pair for pair in self._direct if agent in pair]:
            del self._direct[pair]


def _count(counts: OrderedDict[Key, tuple[str, int]], key: Key, agent: str) -> int:
    last, hops = counts.get(key, (agent, 0))
    hops = min(hops + (last != agent), MOST_HOPS)
    counts[key] = (agent, hops)
    counts.move_to_end(key)
    if len(counts) > MOST_CONVERSATIONS:
        counts.popitem(last=False)
    return hops
