"""Decide whether a question is answered: a pure function of question, votes, policy and time."""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal

from culture.config.agent.trust import TrustConfig
from culture.store.agent.questions import QuestionKind, Standing, StoredQuestion, Vote


@dataclass(frozen=True, slots=True)
class Answered:
    """The question has an answer."""

    # The vote whose text is the answer.
    vote: Vote
    # By what right it counts: person, vote, first, consensus, or anyone for a question without choices.
    authority: Literal["person", "vote", "first", "consensus", "anyone"]
    # Everybody whose votes made the decision.
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undecided:
    """The question stays open."""

    # Whether the timeout has passed, so that the agent does what `timeout_action` says.
    is_timed_out: bool
    # When to decide again if no vote comes before, in milliseconds of Unix time; None: never.
    again_ms: int | None


Decision = Answered | Undecided


def decide(
    question: StoredQuestion, votes: Sequence[Vote], trust: TrustConfig, askers: Container[str], now_ms: int
) -> Decision:
    """Return the decision. The asking agent never votes, and no answer is never consent.

    Only people decide about money: agents do not raise budgets for each other.

    `votes` are in the order of their time, the last one of each voter; `askers` are nick and account of the
    agent that asks.
    """
    counted = [vote for vote in votes if vote.voter not in askers and vote.nick not in askers]
    if not question.options:
        return _open_question(counted, trust) or _undecided(question, trust, now_ms, ())
    for vote in counted:
        if vote.standing is Standing.PERSON:
            return Answered(vote, "person", (vote.nick,))
    agents = [vote for vote in counted if vote.standing is Standing.AGENT]
    closes_ms = _closes_ms(agents, trust)
    match "never" if question.kind is QuestionKind.BUDGET else trust.agents:
        case "never":
            return _undecided(question, trust, now_ms, ())
        case "first":
            decided = Answered(agents[0], "first", (agents[0].nick,)) if agents else None
            return decided or _undecided(question, trust, now_ms, ())
        case "vote" | "consensus" as policy:
            is_due = closes_ms is not None and now_ms >= closes_ms and len(agents) >= trust.quorum
            decided = _majority(agents, policy) if is_due else None
            return decided or _undecided(question, trust, now_ms, [closes_ms])


def _open_question(votes: Sequence[Vote], trust: TrustConfig) -> Answered | None:
    """Return the first answer. A question without choices asks for knowledge, so an agent's answer counts."""
    for vote in votes:
        if vote.standing is Standing.PERSON:
            return Answered(vote, "person", (vote.nick,))
        if trust.agents != "never":
            return Answered(vote, "anyone", (vote.nick,))
    return None


def _closes_ms(agents: Sequence[Vote], trust: TrustConfig) -> int | None:
    return min(vote.at_ms for vote in agents) + int(trust.window_s * 1000) if agents else None


def _majority(agents: Sequence[Vote], policy: Literal["vote", "consensus"]) -> Answered | None:
    """Return the choice of more than half of the voters, or of all of them for a consensus."""
    choice, count = Counter(vote.choice for vote in agents).most_common(1)[0]
    needed = len(agents) if policy == "consensus" else len(agents) // 2 + 1
    if count < needed:
        return None
    winners = [vote for vote in agents if vote.choice == choice]
    return Answered(winners[0], policy, tuple(vote.nick for vote in winners))


def _undecided(
    question: StoredQuestion, trust: TrustConfig, now_ms: int, times_ms: Sequence[int | None]
) -> Undecided:
    times_out_ms = question.asked_ms + int(trust.timeout_s * 1000)
    later = [at_ms for at_ms in (times_out_ms, *times_ms) if at_ms is not None and at_ms > now_ms]
    return Undecided(now_ms >= times_out_ms, min(later, default=None))
