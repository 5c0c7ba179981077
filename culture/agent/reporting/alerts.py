"""What is worth an alert: one event for everything that a person may want to be told of at once."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class AlertKind(StrEnum):
    CRASHED = "backend-crashed"
    PAUSED = "paused"
    RESUMED = "resumed"
    # Somebody restarted the backend.
    RESTARTED = "restarted"
    FAILED = "turn-failed"
    GIVEN_UP = "given-up"
    # Somebody stopped a turn, or dropped a message from the queue.
    STOPPED = "turn-stopped"
    QUESTION = "question-asked"
    TIMEOUT = "question-timed-out"
    COMPLETE = "turn-complete"
    SPIRALING = "escalated"
    BUDGET = "budget"
    QUOTA = "quota-exhausted"
    # Messages wait for budget or quota; their senders are told.
    HELD_BACK = "held-back"


@dataclass(frozen=True, slots=True)
class Alert:
    kind: AlertKind
    text: str
    # Where it is said on IRC: channels and nicks. Who else learns of it is not decided here.
    places: tuple[str, ...] = ()
    # Whom it is said to there.
    senders: str = ""
    # What webhooks are told instead of the text; empty: the text.
    webhook_text: str = ""


OnAlert = Callable[[Alert], None]
