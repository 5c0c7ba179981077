"""The story of an agent in the journal: one entry for each thing that began or ended. Never what was said."""

import logging
from typing import Any

from culture.agent.contract import Message
from culture.agent.turns import Ended, Turn
from culture.config.address import Address
from culture.errors import CultureError
from culture.systemd.journal import fields

log = logging.getLogger(__name__)


class Story:
    def __init__(self, nick: str, backend: str, *, is_rehearsing: bool) -> None:
        self._nick = nick
        self._backend = backend
        # What a backend takes for its cost in a rehearsal is none.
        self._has_cost = not is_rehearsing

    def connected(self, server: str, address: Address, nick: str) -> None:
        told = fields("connected", nick=nick, peer=address)
        log.info("connected to %s at %s as %s", server, address, nick, extra=told)

    def connection_lost(self, address: Address, why: CultureError, wait_s: float) -> None:
        told = fields("connection-lost", nick=self._nick, peer=address)
        log.warning("%s; trying again in %.0f s", why, wait_s, extra=told)

    def not_in(self, channel: str, why: str) -> None:
        log.warning("not in %s: %s", channel, why, extra=fields(nick=self._nick, channel=channel))

    def session_started(self) -> None:
        told = fields("session-started", nick=self._nick, backend=self._backend)
        log.info("%s session started", self._backend, extra=told)

    def turn_began(self, turn: Turn) -> None:
        told = fields("turn-began", **self._about(turn))
        log.info("turn %s began for %s %s", turn.id, turn.request.sender, turn.request.where, extra=told)

    def turn_ended(self, ended: Ended, cost_usd: float | None, *, is_stopping: bool) -> None:
        told = fields(
            "turn-ended",
            **self._about(ended.turn),
            outcome=ended.outcome,
            cost_usd=self._usd(cost_usd),
            duration_ms=round(ended.duration_s * 1000),
        )
        # Being stopped in the middle of a turn is nothing that anyone has to mend.
        failed = logging.WARNING if is_stopping else logging.ERROR
        cost = f", {cost_usd:.4f} USD" if cost_usd is not None and self._has_cost else ""
        error = f": {ended.error}" if ended.error else ""
        level = failed if ended.error else logging.INFO
        how = (ended.turn.id, ended.outcome, ended.duration_s, cost, error)
        log.log(level, "turn %s %s after %.1f s%s%s", *how, extra=told)

    def unasked_turn_ended(self, result: Message) -> None:
        cost, duration_ms = self._usd(result["cost_usd"]), result["duration_ms"]
        told = fields(nick=self._nick, backend=self._backend, cost_usd=cost, duration_ms=duration_ms)
        log.info("%s ended a turn that nobody asked for", self._backend, extra=told)

    def not_told(self, target: str, why: CultureError) -> None:
        log.warning("could not tell %s: %s", target, why, extra=fields(nick=self._nick))

    def _about(self, turn: Turn) -> dict[str, Any]:
        request = turn.request
        who = {"nick": self._nick, "channel": request.channel, "peer": request.sender}
        return {**who, "turn": turn.id, "backend": self._backend}

    def _usd(self, cost: float | None) -> str | None:
        return f"{cost:.6f}" if cost is not None and self._has_cost else None
