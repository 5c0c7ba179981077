"""Keep the queue within its limits: give up messages beyond them, and forget finished ones."""

from collections.abc import Callable
from typing import Final

from culture.agent.reporting.alerts import AlertKind, OnAlert
from culture.agent.reporting.sender_alerts import alert_senders
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueuedMessage

# How long the queue remembers finished messages, so that a replay does not enqueue them again.
DONE_KEPT_S: Final = 7 * 86400.0
PRUNE_INTERVAL_S: Final = 3600.0
MAX_QUEUED: Final = 1000
# Bound per sender, so that one sender cannot fill the whole queue.
MAX_QUEUED_PER_SENDER: Final = 250


class QueueLimits:
    """Gives up messages beyond the limits, and tells their senders."""

    def __init__(
        self,
        file: AgentFile,
        expiry_s: float,
        on_alert: OnAlert,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._file = file
        self._expiry_s = expiry_s
        self._on_alert = on_alert
        self._clock = clock
        self._wall_clock = wall_clock
        # The (conversation, sender) pairs that were told that the queue is full, until it has room again.
        self._refusals_sent: set[tuple[str, str]] = set()
        self._prune_at_s = 0.0

    def reject_overflow(self, newest: QueuedMessage) -> None:
        """Give up the messages for which the queue has no room after the newest one."""
        text = f"not queued: {MAX_QUEUED} messages are already waiting for this agent"
        too_many = self._file.queue.beyond(MAX_QUEUED)
        if not too_many:
            text = f"not queued: you already have {MAX_QUEUED_PER_SENDER} messages waiting for this agent"
            too_many = self._file.queue.beyond_of(newest.sender, MAX_QUEUED_PER_SENDER)
        if not too_many:
            self._refusals_sent.discard((newest.conversation, newest.sender))
            return
        with self._file.at_once():
            self._file.queue.give_up(too_many, "too many messages were waiting", self._now_ms())
        # Tell each sender once, so that a flood of messages does not cause a flood of notices.
        askers = {(entry.question.conversation, entry.question.sender): entry for entry in too_many}
        news = [entry for asker, entry in askers.items() if asker not in self._refusals_sent]
        self._refusals_sent.update(askers)
        alert_senders(self._on_alert, AlertKind.GIVEN_UP, text, news)

    def queue_is_empty(self) -> None:
        """Tell senders again from now on that the queue is full."""
        self._refusals_sent.clear()

    def expire_old_messages(self) -> None:
        """Give up messages that waited too long."""
        too_old = self._file.queue.waiting_since(self._now_ms() - int(self._expiry_s * 1000))
        if not too_old:
            return
        with self._file.at_once():
            self._file.queue.give_up(too_old, "it waited too long", self._now_ms())
        text = f"given up: your message waited for more than {self._expiry_s:.0f} s"
        alert_senders(self._on_alert, AlertKind.GIVEN_UP, text, too_old)

    def expires_at_s(self) -> float | None:
        """Return the time at which the oldest queued message expires, or None."""
        oldest_ms = self._file.queue.oldest_ms()
        if oldest_ms is None:
            return None
        return self._clock() + oldest_ms / 1000 + self._expiry_s - self._wall_clock()

    def prune_done_entries(self) -> None:
        """Delete old finished messages. This does not depend on turns: messages given up need room, too."""
        if self._clock() < self._prune_at_s:
            return
        self._prune_at_s = self._clock() + PRUNE_INTERVAL_S
        with self._file.at_once():
            self._file.queue.forget(self._now_ms() - int(DONE_KEPT_S * 1000))

    def requeue_after_crash(self, crashes: int) -> set[int]:
        """Requeue injected messages, give up those with so many crashes and return the numbers of these."""
        with self._file.at_once():
            self._file.queue.requeue(self._now_ms(), is_crash=True)
            fatal = self._file.queue.fatal(crashes)
            self._file.queue.give_up(fatal, f"{crashes} turns with it ended in a crash", self._now_ms())
        if fatal:
            text = f"given up: {crashes} turns with your message ended in a crash"
            alert_senders(self._on_alert, AlertKind.GIVEN_UP, text, fatal)
        return {entry.number for entry in fatal}

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)
