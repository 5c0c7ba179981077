"""Raise alerts for the people and agents whose messages an event concerns."""

from collections.abc import Sequence

from culture.agent.reporting.alerts import Alert, AlertKind, OnAlert
from culture.agent.turns.turns import Turn
from culture.names import fold
from culture.store.agent.queue import QueueEntry


def alert_senders(on_alert: OnAlert, kind: AlertKind, text: str, entries: Sequence[QueueEntry]) -> None:
    """Raise one alert in each conversation, addressed to everyone who wrote a message there."""
    senders: dict[str, dict[str, None]] = {}
    for entry in entries:
        senders.setdefault(entry.question.conversation, {})[entry.question.sender] = None
    for conversation, nicks in senders.items():
        on_alert(Alert(kind, text, (conversation,), ", ".join(nicks)))


def alert_stopped(on_alert: OnAlert, turn: Turn) -> None:
    """Raise the alert that somebody stopped a turn, also where they said so. Do nothing for other turns."""
    if turn.interruption is None or not turn.is_stopped:
        return
    text, place = f"turn {turn.id} was {turn.interruption.why}", turn.interruption.place
    alert_senders(on_alert, AlertKind.STOPPED, text, turn.entries)
    if place and fold(place) not in {fold(entry.question.conversation) for entry in turn.entries}:
        on_alert(Alert(AlertKind.STOPPED, text, (place,)))
