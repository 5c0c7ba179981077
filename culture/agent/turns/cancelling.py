"""Stop what an agent was asked to do: its running turn, or a message that waits for one."""

from collections.abc import Callable
from typing import Final

from culture.agent.reporting.alerts import AlertKind, OnAlert
from culture.agent.reporting.sender_alerts import alert_senders
from culture.agent.turns.interruption import Fate, Interruption
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.errors import UsageError
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueEntry, QueueState

# Later than any message.
ALWAYS_MS: Final = 2**62


class Cancelling:
    """Stops turns and drops messages. The queue says by whom, and their senders are told."""

    def __init__(
        self,
        nick: str,
        file: AgentFile,
        turns: Turns,
        turn_loop: TurnLoop,
        on_alert: OnAlert,
        wall_clock: Callable[[], float],
    ) -> None:
        self._nick = nick
        self._file = file
        self._turns = turns
        self._turn_loop = turn_loop
        self._on_alert = on_alert
        self._wall_clock = wall_clock

    def stop_turn(self, by: str, place: str = "", said_until_ms: int = ALWAYS_MS) -> bool:
        """Stop the running turn and return whether there is one.

        A turn for messages that were said after `said_until_ms` goes on. `place` is where on IRC the outcome
        is reported, too. The queue has the messages as stopped before the backend is interrupted, so that a
        crash does not repeat them.
        """
        turn = self._turns.current
        if turn is None or turn.question.said_ms > said_until_ms:
            return False
        note = f"stopped by {by}"
        if self._turn_loop.interrupt(Interruption(note, Fate.STOPPED, place)) is None:
            return False
        with self._file.at_once():
            self._file.queue.stop(self._file.queue.injected(), note, self._now_ms())
        return True

    def stop_broken_off(self, by: str, said_until_ms: int = ALWAYS_MS) -> bool:
        """Stop the messages whose last turn broke off, and return whether there are any.

        After a restart these are also the messages of the turn that the last process did not finish.
        """
        if self._turns.current is not None:
            return False
        open_ones = self._file.queue.injected() + self._file.queue.broken_off()
        stopped = [entry for entry in open_ones if entry.question.said_ms <= said_until_ms]
        if stopped:
            self._stop(stopped, f"stopped by {by}")
        return bool(stopped)

    def drop(self, number: int, by: str) -> QueueEntry:
        """Drop one queued message. Raise UsageError if it does not wait for a turn."""
        entry = self._file.queue.find(number)
        if entry is None:
            hint = f"culturectl queue {self._nick}"
            raise UsageError(f"there is no message {number} in the queue", hint=hint)
        if entry.state is QueueState.INJECTED:
            hint = f"stop the turn: culturectl abort {self._nick}"
            raise UsageError(f"message {number} is being answered", hint=hint)
        if entry.state is not QueueState.QUEUED:
            raise UsageError(f"message {number} does not wait for a turn: it is {entry.state}")
        self._stop([entry], f"dropped by {by}")
        self._turn_loop.wake()
        return entry

    def _stop(self, entries: list[QueueEntry], note: str) -> None:
        with self._file.at_once():
            self._file.queue.stop(entries, note, self._now_ms())
        alert_senders(self._on_alert, AlertKind.STOPPED, f"your message was {note}", entries)

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)
