"""The gate that every turn passes before it begins."""

from collections.abc import Sequence
from typing import Protocol

from culture.store.agent.queue import Entry


class Gate(Protocol):
    def holds_back(self, entries: Sequence[Entry]) -> str | None:
        """Why these must not start a turn now; None if they may.

        They wait, and it is asked again when a turn has ended, something new was said, or the agent was
        resumed.
        """


class OpenGate:
    def holds_back(self, entries: Sequence[Entry]) -> str | None:
        return None
