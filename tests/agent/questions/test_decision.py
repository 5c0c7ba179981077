"""Whose answer counts: every combination of authority, policy and time."""

from itertools import product

import pytest

from culture.agent.questions.decision import Answered, Undecided, decide
from culture.agent.questions.wording import DECISION
from culture.config.agent.trust import TrustConfig
from culture.store.agent.questions import QuestionKind, QuestionState, Standing, StoredQuestion, Vote

ASKED_MS = 1_000_000
MINUTE_MS = 60_000
OWN = "spark-claude"


def question(*options: str) -> StoredQuestion:
    head = (1, "qabc", QuestionKind.PERMISSION, QuestionState.POSTED, "may I?", "{}", "tidy up", "m1", "")
    where = ("t1", "", "#ops", (), options, ("q1",), ASKED_MS, True, None)
    return StoredQuestion(*head, *where, "", "", "", "", "", None, None, None)


def vote(who: str, choice: str, standing: Standing = Standing.AGENT, minute: int = 1) -> Vote:
    return Vote(who, who, standing, choice, choice, f"m-{who}", ASKED_MS + minute * MINUTE_MS)


def outcome(policy: str, *votes: Vote, minute: int, quorum: int = 2, options: tuple[str, ...] = DECISION):
    trust = TrustConfig(agents=policy, quorum=quorum, window="5m", timeout="30m")
    now_ms = ASKED_MS + minute * MINUTE_MS
    return decide(question(*options), votes, trust, {OWN, "claude-account"}, now_ms)


POLICIES = ("vote", "first", "consensus", "never")
# Before the window of the votes in minute 1 ends, after it, and after the timeout.
TIMES = (2, 6, 31)


@pytest.mark.parametrize(("policy", "minute", "choice"), list(product(POLICIES, TIMES, DECISION)))
def test_a_person_decides_at_once_whatever_agents_said(policy, minute, choice):
    agents = [vote("thor-claude", "yes"), vote("orin-claude", "yes"), vote("spark-codex", "yes")]
    person = vote("spark-ori", choice, Standing.PERSON, minute=2)

    found = outcome(policy, *agents, person, minute=minute)

    assert isinstance(found, Answered)
    assert (found.vote.choice, found.authority, found.by) == (choice, "person", ("spark-ori",))


@pytest.mark.parametrize(("policy", "minute"), list(product(POLICIES, TIMES)))
def test_no_answer_is_never_consent(policy, minute):
    found = outcome(policy, minute=minute)

    assert found == Undecided(
        is_timed_out=minute >= 30, again_ms=None if minute >= 30 else ASKED_MS + 30 * MINUTE_MS
    )


@pytest.mark.parametrize(
    ("policy", "minute", "standing"),
    list(product(POLICIES, TIMES, (Standing.AGENT, Standing.PERSON, Standing.ANYONE))),
)
def test_the_asking_agent_never_votes(policy, minute, standing):
    own = [vote(OWN, "yes", standing), vote("claude-account", "yes", standing)]
    same_account = Vote("claude-account", "spark-other", standing, "yes", "yes", "m", ASKED_MS + 1)

    assert isinstance(outcome(policy, *own, same_account, minute=minute, quorum=1), Undecided)


@pytest.mark.parametrize(("policy", "minute"), list(product(POLICIES, TIMES)))
def test_somebody_without_proof_decides_nothing(policy, minute):
    guests = [vote(nick, "yes", Standing.ANYONE) for nick in ("spark-ori", "spark-bo", "spark-eve")]

    assert isinstance(outcome(policy, *guests, minute=minute, quorum=1), Undecided)


AGENTS = ("thor-claude", "orin-claude", "spark-codex")


@pytest.mark.parametrize(
    ("policy", "choices", "minute", "quorum"),
    [
        (policy, choices, minute, quorum)
        for policy in POLICIES
        for count in (1, 2, 3)
        for choices in product(("yes", "no"), repeat=count)
        for minute in TIMES
        for quorum in (1, 2, 3)
    ],
)
def test_what_agents_decide_together(policy, choices, minute, quorum):
    votes = [vote(nick, choice) for nick, choice in zip(AGENTS, choices, strict=False)]

    found = outcome(policy, *votes, minute=minute, quorum=quorum)

    is_due = minute >= 6 and len(choices) >= quorum
    winner = next((each for each in choices if choices.count(each) * 2 > len(choices)), None)
    expected = {
        "never": None,
        "first": choices[0],
        "vote": winner if is_due else None,
        "consensus": choices[0] if is_due and len(set(choices)) == 1 else None,
    }[policy]
    assert (found.vote.choice if isinstance(found, Answered) else None) == expected
    if isinstance(found, Answered):
        assert found.authority == policy
        assert all(dict(zip(AGENTS, choices, strict=False))[nick] == expected for nick in found.by)
    else:
        assert found.is_timed_out is (minute >= 30)


def test_a_vote_is_decided_again_when_its_window_ends():
    found = outcome("vote", vote("thor-claude", "yes", minute=3), minute=4)

    assert found == Undecided(is_timed_out=False, again_ms=ASKED_MS + 8 * MINUTE_MS)


@pytest.mark.parametrize("standing", list(Standing))
@pytest.mark.parametrize("policy", POLICIES)
def test_a_question_without_choices_is_answered_by_the_first_who_was_asked(policy, standing):
    found = outcome(policy, vote("thor-claude", "", standing), minute=2, options=())

    if policy == "never" and standing is not Standing.PERSON:
        assert isinstance(found, Undecided)
    else:
        assert isinstance(found, Answered)
        assert found.authority == ("person" if standing is Standing.PERSON else "anyone")


@pytest.mark.parametrize("policy", ["vote", "first", "consensus"])
def test_agents_do_not_raise_budgets_for_each_other(policy):
    trust = TrustConfig(agents=policy, quorum=1, window="5m", timeout="30m")
    asked = question(*DECISION)._replace(kind=QuestionKind.BUDGET)
    votes = [vote("thor-bo", "yes"), vote("orin-al", "yes")]
    now_ms = ASKED_MS + 20 * MINUTE_MS

    assert isinstance(decide(asked, votes, trust, {OWN}, now_ms), Undecided)
    by_person = [*votes, vote("spark-ori", "no", Standing.PERSON)]
    decided = decide(asked, by_person, trust, {OWN}, now_ms)
    assert isinstance(decided, Answered)
    assert (decided.authority, decided.vote.choice) == ("person", "no")
