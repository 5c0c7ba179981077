"""Publish the state of an agent on IRC: as metadata for clients, and as AWAY for people."""

import asyncio
from typing import Final, Protocol

from culture.agent.reporting.state import AgentState, Situation

# The key of the state, described in culture/protocol/extensions/state.md.
STATE_KEY: Final = "culture.state"
# Changes within this time are published together, so that short turns do not use up the server's limit.
DELAY_S: Final = 1.0
# Somebody who writes to the agent in these states is answered soon.
_PRESENT: Final = frozenset({AgentState.IDLE, AgentState.WORKING})
_AWAY_BYTES: Final = 200


class Publisher(Protocol):
    """The operations of the IRC client that publish a state."""

    def set_metadata(self, key: str, value: str) -> None:
        """Publish a value of our own, or do nothing if the server has no metadata."""

    def set_away(self, why: str) -> None:
        """Be away for this reason, or come back if it is empty."""


class Presence:
    """Publishes the last situation that it was told, once per change."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._value = ""
        self._away = ""
        self._next: Situation | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        """Publish everything again: a new connection has no state."""
        self._value = self._away = ""

    def changed(self, situation: Situation) -> None:
        """Publish the situation soon."""
        self._next = situation
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_S, self._publish)

    def close(self) -> None:
        """Publish nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _publish(self) -> None:
        self._timer = None
        if self._next is None:
            return
        value = metadata_value(self._next)
        if value != self._value:
            self._value = value
            self._publisher.set_metadata(STATE_KEY, value)
        away = away_message(self._next)
        if away != self._away:
            self._away = away
            self._publisher.set_away(away)


def metadata_value(situation: Situation) -> str:
    """Return `STATE SINCE`: the state with dashes and the time. Who asked, and why, is not everybody's."""
    return " ".join(filter(None, (situation.state.replace(" ", "-"), situation.since)))


def away_message(situation: Situation) -> str:
    """Return why the agent does not answer soon; nothing if it does."""
    if situation.state in _PRESENT:
        return ""
    text = f"{situation.state}: {situation.why}" if situation.why else str(situation.state)
    return text.encode()[:_AWAY_BYTES].decode(errors="ignore")
