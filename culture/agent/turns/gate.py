"""The check that every turn must pass before it begins."""

from collections.abc import Sequence
from typing import Protocol

from culture.store.agent.queue import QueueEntry


class Gate(Protocol):
    """Decides whether a turn may begin."""

    def holds_back(self, entries: Sequence[QueueEntry]) -> str | None:
        """Return why these messages must not start a turn now, or None if they may.

        Messages that are held back stay queued. The turn loop asks again when a turn has ended, a new message
        was queued or the agent was resumed.
        """


class OpenGate:
    """A gate that lets every turn begin."""

    def holds_back(self, entries: Sequence[QueueEntry]) -> str | None:
        """Return None: every turn may begin."""
        return None
