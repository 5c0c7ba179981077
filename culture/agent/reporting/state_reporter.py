"""Collect the facts that the state of an agent follows from, and show the state where people look."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from culture.agent.reporting.presence import Presence
from culture.agent.reporting.receipts import Receipts
from culture.agent.reporting.state import AgentState, Fact, Facts, Situation, situation_of
from culture.agent.turns.gate import Gate, HeldBack
from culture.agent.turns.turns import Turn, Turns

# How often the state is computed while a turn runs.
CHECK_INTERVAL_S: Final = 3.0


class BackendFacts(Protocol):
    """The facts about the backend that decide on the state."""

    @property
    def down_because(self) -> str:
        """Return why the backend does not work; nothing while it does."""

    paused_because: str
    # Unix time of the pause; None if it is not known.
    paused_since_s: float | None


class StateReporter:
    """Computes the state of an agent when asked, and publishes it when something has changed.

    `held_back` returns why the turn loop began no turn when it last tried. `asked` returns where the open
    questions of the agent were asked, `absence` why the agent is not on IRC.
    """

    def __init__(
        self,
        turns: Turns,
        backend: BackendFacts,
        gate: Gate,
        presence: Presence,
        receipts: Receipts | None,
        *,
        stall_timeout_s: float,
        held_back: Callable[[], HeldBack | None],
        asked: Callable[[], Sequence[str]],
        absence: Callable[[], str],
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._turns = turns
        self._backend = backend
        self._gate = gate
        self._presence = presence
        self._receipts = receipts
        self._stall_timeout_s = stall_timeout_s
        self._held_back = held_back
        self._asked = asked
        self._absence = absence
        self._clock = clock
        self._wall_clock = wall_clock
        # Unix time since which each fact without a time of its own is known.
        self._since_s: dict[str, float] = {}
        self._woken = asyncio.Event()

    def situation(self) -> Situation:
        """Return the state of the agent now."""
        situation = situation_of(self._facts())
        if situation.state is not AgentState.IDLE:
            self._since_s.pop("idle", None)
        return situation

    def connected(self) -> None:
        """Publish the state on a new connection."""
        self._presence.connected()
        self.changed()

    def changed(self) -> None:
        """Publish the state, because something may have changed it."""
        self._presence.changed(self.situation())
        if self._receipts is not None:
            self._receipts.changed(self._turns.current)
        self._woken.set()

    async def run(self) -> None:
        """Show people that the agent works, and what its turn waits for."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_turn())
            if self._receipts is not None:
                tasks.create_task(self._receipts.run())

    async def _watch_turn(self) -> None:
        """Publish the state now and then while a turn runs: a question opens and closes within a turn."""
        while True:
            self._woken.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_INTERVAL_S if self._turns.current else None):
                    await self._woken.wait()
                    continue
            self._presence.changed(self.situation())

    def close(self) -> None:
        """Publish nothing any more."""
        self._presence.close()

    def _facts(self) -> Facts:
        turn = self._turns.current
        # A turn may go on while an older question is open.
        asked = self._asked() if turn is None or turn.waits else []
        held_back = self._gate.closed() or self._held_back()
        paused = self._backend.paused_because
        return Facts(
            idle=Fact(self._absence(), self._first_known_s("idle")),
            turn=Fact(_describe(turn, paused), self._wall_s(turn.began_s)) if turn is not None else None,
            stalled=self._stalled(turn) if turn is not None else None,
            question=self._fact("question", _describe_questions(asked, turn)),
            paused=Fact(paused, self._backend.paused_since_s) if paused else None,
            held_back=self._fact("held back", held_back.why if held_back else ""),
            held_back_kind=held_back.kind if held_back else None,
            backend_down=self._fact("backend", self._backend.down_because),
        )

    def _stalled(self, turn: Turn) -> Fact | None:
        if self._clock() < turn.stalls_at_s(self._stall_timeout_s):
            return None
        idle_s = self._clock() - turn.last_activity_s
        why = f"turn {turn.id} has shown no activity for {idle_s:.0f} s"
        return Fact(why, self._wall_s(turn.last_activity_s))

    def _fact(self, name: str, why: str) -> Fact | None:
        if not why:
            self._since_s.pop(name, None)
            return None
        return Fact(why, self._first_known_s(name))

    def _first_known_s(self, name: str) -> float:
        return self._since_s.setdefault(name, self._wall_clock())

    def _wall_s(self, monotonic_s: float) -> float:
        return self._wall_clock() - (self._clock() - monotonic_s)


def _describe_questions(places: Sequence[str], turn: Turn | None) -> str:
    if turn is not None and turn.waits and not places:
        return f"turn {turn.id} asked a question"
    return f"asked in {', '.join(dict.fromkeys(places))}" if places else ""


def _describe(turn: Turn, paused: str) -> str:
    text = f"turn {turn.id} for {turn.senders} {turn.where}"
    return f"{text}; paused after it: {paused}" if paused else text
