"""Hold back every turn while the server says that agents are halted, also after a restart of the agent."""

from collections.abc import Callable, Sequence
from typing import Final

from culture.agent.turns.gate import HeldBack, HoldKind
from culture.client.events import HaltChanged
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueEntry

_KEPT: Final = "halted"


class HaltGate:
    """Knows whether the agents are halted; the agent's file keeps it."""

    def __init__(
        self, file: AgentFile, interrupt: Callable[[str], None], on_change: Callable[[], None]
    ) -> None:
        """`interrupt` ends the running turn, and `on_change` makes the turn loop look again."""
        self._file = file
        self._interrupt = interrupt
        self._on_change = on_change
        # Why the agent is halted; empty while it is not.
        self._why = file.kept(_KEPT)

    def changed(self, told: HaltChanged) -> None:
        """Halt or go on, as the server says. The file is written before anything else happens."""
        reason = f": {told.why}" if told.why else ""
        why = f"halted by {told.by}{reason}" if told.is_halted else ""
        if why == self._why:
            return
        self._file.keep(_KEPT, why)
        self._why = why
        if why:
            self._interrupt(why)
        self._on_change()

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Return the halt, whatever the messages are."""
        return self.closed()

    def closed(self) -> HeldBack | None:
        """Return the halt, if there is one."""
        return HeldBack(HoldKind.HALT, self._why) if self._why else None
