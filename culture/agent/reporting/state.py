"""The state of an agent, computed from facts when somebody asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from culture.agent.turns.gate import HoldKind
from culture.protocol.render import format_time


class AgentState(StrEnum):
    """What an agent does, or what it waits for."""

    # A turn runs.
    WORKING = "working"
    # The agent goes on when a person has answered.
    WAITING_FOR_ANSWER = "waiting for an answer"
    WAITING_FOR_BUDGET = "waiting for budget"
    # The quota of its login is used up.
    WAITING_FOR_QUOTA = "waiting for quota"
    # It begins no turn until somebody resumes it.
    PAUSED = "paused"
    # Everything on this host or on the whole network was halted.
    HALTED = "halted"
    # It would begin a turn at once.
    IDLE = "idle"
    # It shows no sign of life.
    HUNG = "hung"
    # Its process or its backend does not run.
    DEAD = "dead"


class Fact(NamedTuple):
    """Something that is true of an agent now."""

    # One line for people to read.
    why: str
    # Unix time since which it is true; None if nobody knows.
    since_s: float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that decides on the state of an agent whose process answers. None: it is not the case."""

    # It has had nothing to do since then.
    idle: Fact
    # A turn runs.
    turn: Fact | None = None
    # The running turn has shown no activity for longer than it may.
    stalled: Fact | None = None
    # The running turn waits for the answer to a question or, without a turn, a question is open.
    question: Fact | None = None
    paused: Fact | None = None
    # The gate lets no turn begin.
    held_back: Fact | None = None
    held_back_kind: HoldKind | None = None
    # The backend does not run, or cannot log in.
    backend_down: Fact | None = None


class Situation(NamedTuple):
    """The state of an agent, since when it is in it, and why."""

    state: AgentState
    since_s: float | None
    why: str

    @property
    def since(self) -> str:
        """Return the beginning of the state as in server-time; nothing if nobody knows it."""
        return "" if self.since_s is None else format_time(self.since_s)

    def as_json(self) -> dict[str, Any]:
        """Return the situation for `--json` and for the agent's socket."""
        return {"state": self.state.value, "since": self.since or None, "why": self.why}


_HELD_BACK: Final[Mapping[HoldKind, AgentState]] = {
    HoldKind.ANSWER: AgentState.WAITING_FOR_ANSWER,
    HoldKind.BUDGET: AgentState.WAITING_FOR_BUDGET,
    HoldKind.QUOTA: AgentState.WAITING_FOR_QUOTA,
    HoldKind.HALT: AgentState.HALTED,
    HoldKind.LOOP: AgentState.WAITING_FOR_ANSWER,
}


def situation_of(facts: Facts) -> Situation:
    """Return the state that follows from the facts.

    A running turn comes before everything else, because a pause and a halt let it end unless they interrupt
    it. A pause comes before a backend that is down, because the circuit breaker pauses an agent whose backend
    crashes too often.
    """
    if facts.stalled is not None:
        return _in(AgentState.HUNG, facts.stalled)
    if facts.turn is not None and facts.question is not None:
        return _in(AgentState.WAITING_FOR_ANSWER, facts.question)
    if facts.turn is not None:
        return _in(AgentState.WORKING, facts.turn)
    held = _HELD_BACK[facts.held_back_kind] if facts.held_back_kind is not None else None
    if facts.held_back is not None and held is AgentState.HALTED:
        return _in(AgentState.HALTED, facts.held_back)
    if facts.paused is not None:
        return _in(AgentState.PAUSED, facts.paused)
    if facts.backend_down is not None:
        return _in(AgentState.DEAD, facts.backend_down)
    if facts.held_back is not None and held is not None:
        return _in(held, facts.held_back)
    if facts.question is not None:
        return _in(AgentState.WAITING_FOR_ANSWER, facts.question)
    return _in(AgentState.IDLE, facts.idle)


def _in(state: AgentState, fact: Fact) -> Situation:
    return Situation(state, fact.since_s, fact.why)
