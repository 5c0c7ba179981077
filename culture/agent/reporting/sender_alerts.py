"""Raise alerts for the people and agents whose messages an event concerns."""

from collections.abc import Sequence

from culture.agent.reporting.alerts import Alert, AlertKind, OnAlert
from culture.store.agent.queue import QueueEntry


def alert_senders(on_alert: OnAlert, kind: AlertKind, text: str, entries: Sequence[QueueEntry]) -> None:
    """Raise one alert in each conversation, addressed to everyone who wrote a message there."""
    senders: dict[str, dict[str, None]] = {}
    for entry in entries:
        senders.setdefault(entry.question.conversation, {})[entry.question.sender] = None
    for conversation, nicks in senders.items():
        on_alert(Alert(kind, text, (conversation,), ", ".join(nicks)))
