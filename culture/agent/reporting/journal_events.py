"""The story of an agent in the journal: one entry for each thing that began or ended. Never what was said."""

import logging
from typing import Any, Final

from culture.agent.contract import ContextChanged
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.turns.turns import EndedTurn, Turn
from culture.config.address import Address
from culture.errors import CultureError
from culture.store.ledger.records import Use
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# A failed turn is not here: the entry about its end says it.
_ALERTS: Final = {
    AlertKind.CRASHED: logging.WARNING,
    AlertKind.PAUSED: logging.ERROR,
    AlertKind.RESUMED: logging.INFO,
    AlertKind.RESTARTED: logging.INFO,
    AlertKind.GIVEN_UP: logging.WARNING,
    AlertKind.BUDGET: logging.WARNING,
    AlertKind.QUOTA: logging.WARNING,
    AlertKind.STOPPED: logging.INFO,
}


class JournalEvents:
    def __init__(self, nick: str, backend: str) -> None:
        self._nick = nick
        self._backend = backend

    def connected(self, server: str, address: Address, nick: str) -> None:
        told = fields("connected", nick=nick, peer=address)
        log.info("connected to %s at %s as %s", server, address, nick, extra=told)

    def connection_lost(self, address: Address, why: CultureError, wait_s: float) -> None:
        told = fields("connection-lost", nick=self._nick, peer=address)
        log.warning("%s; trying again in %.0f s", why, wait_s, extra=told)

    def not_in(self, channel: str, why: str) -> None:
        log.warning("not in %s: %s", channel, why, extra=fields(nick=self._nick, channel=channel))

    def caught_up(self, missed: int) -> None:
        if missed:
            told = fields("caught-up", nick=self._nick)
            messages = "1 message" if missed == 1 else f"{missed} messages"
            log.info("caught up with %s", messages, extra=told)

    def not_caught_up(self, why: CultureError) -> None:
        log.warning("what was said meanwhile is not known: %s", why, extra=fields(nick=self._nick))

    def session_started(self) -> None:
        told = fields("session-started", nick=self._nick, backend=self._backend)
        log.info("%s session started", self._backend, extra=told)

    def alerted(self, alert: Alert) -> None:
        if alert.kind in _ALERTS:
            told = fields(alert.kind, nick=self._nick, backend=self._backend)
            log.log(_ALERTS[alert.kind], "%s", alert.text, extra=told)

    def turn_began(self, turn: Turn) -> None:
        told = fields("turn-began", **self._about(turn))
        log.info("turn %s began for %s %s", turn.id, turn.senders, turn.where, extra=told)

    def turn_stalled(self, turn: Turn, patience_s: float) -> None:
        text = "turn %s is interrupted: no activity for %.0f s"
        log.warning(text, turn.id, patience_s, extra=fields(**self._about(turn)))

    def turn_ended(self, ended: EndedTurn, use: Use, *, is_expected: bool) -> None:
        told = fields(
            "turn-ended",
            **self._about(ended.turn),
            outcome=ended.outcome,
            duration_ms=round(ended.duration_s * 1000),
            **_figures(use),
        )
        # Being stopped in the middle of a turn is nothing that anyone has to mend.
        failed = logging.WARNING if is_expected else logging.ERROR
        cost = f", {use.cost_usd:.4f} USD" if use.cost_usd is not None else ""
        error = f": {ended.error}" if ended.error else ""
        level = failed if ended.outcome == "failed" else logging.INFO
        how = (ended.turn.id, ended.outcome, ended.duration_s, cost, error)
        log.log(level, "turn %s %s after %.1f s%s%s", *how, extra=told)

    def unasked_turn_ended(self, use: Use, duration_ms: int) -> None:
        told = fields(nick=self._nick, backend=self._backend, duration_ms=duration_ms, **_figures(use))
        log.info("%s ended a turn that nobody asked for", self._backend, extra=told)

    def ledger_failed(self, why: CultureError) -> None:
        """Log that something could not be written to the ledger."""
        log.error("the ledger is not available: %s", why, extra=fields(nick=self._nick))

    def reservations_assumed(self, count: int) -> None:
        """Log that reservations of an earlier process count as spent, because nobody knows the real cost."""
        told = fields("reservations-assumed", nick=self._nick)
        sessions = "1 model session" if count == 1 else f"{count} model sessions"
        log.warning("the cost of %s is not known; what they reserved counts as spent", sessions, extra=told)

    def context_changed(self, changed: ContextChanged) -> None:
        """Log that the backend compacted or cleared its context, or why it did not."""
        told = fields("context-changed", nick=self._nick, backend=self._backend)
        if changed.failed:
            log.warning("the context was not %s: %s", changed.did, changed.error, extra=told)
        else:
            log.info("the context was %s", changed.did, extra=told)

    def not_transcribed(self, why: CultureError) -> None:
        log.warning("the transcript is not written: %s", why, extra=fields(nick=self._nick))

    def not_told(self, target: str, why: CultureError) -> None:
        log.warning("could not tell %s: %s", target, why, extra=fields(nick=self._nick))

    def webhook_failed(self, event: str, why: str) -> None:
        """Log that a webhook was not told of an event. Its address may be a secret and is not logged."""
        told = fields("webhook-failed", nick=self._nick)
        log.warning("the webhook for %s failed: %s", event, why, extra=told)

    def whispered(self, verdict: str) -> None:
        """Log that the supervisor told its agent something. What it said stays between them."""
        told = fields("supervisor-whispered", nick=self._nick, backend=self._backend, verdict=verdict)
        log.info("the supervisor whispered: %s", verdict, extra=told)

    def escalated(self, turn: Turn) -> None:
        """Log that the supervisor paused the agent. What it is stuck on stays on IRC."""
        told = fields("escalated", **self._about(turn))
        log.error("paused in turn %s: the supervisor calls for a person", turn.id, extra=told)

    def judge_failed(self, why: str) -> None:
        """Log that an evaluation of the supervisor gave no verdict."""
        told = fields("judge-failed", nick=self._nick, backend=self._backend)
        log.warning("the supervisor's judge failed: %s; the agent works on", why, extra=told)

    def evaluation_skipped(self, spent_tokens: int, agent_tokens: int) -> None:
        """Log that the supervisor has used its share of the agent's tokens."""
        text = "the supervisor waits: it used %d tokens, its agent %d"
        log.info(text, spent_tokens, agent_tokens, extra=fields(nick=self._nick, backend=self._backend))

    def _about(self, turn: Turn) -> dict[str, Any]:
        who = {"nick": self._nick, "channel": turn.question.channel, "peer": turn.question.sender}
        return {**who, "turn": turn.id, "backend": self._backend, "msgid": turn.question.msgid}


def _figures(use: Use) -> dict[str, Any]:
    cost = None if use.cost_usd is None else f"{use.cost_usd:.6f}"
    tokens = {name: value for name, value in use._asdict().items() if name.endswith("_tokens")}
    return {**tokens, "cost_usd": cost}
