"""A supervisor may spend a twentieth of what its agent spends, or a small floor."""

from hypothesis import given
from hypothesis import strategies as st
from support.activity import call

from culture.agent.contract import Message, Result, Usage, UsageReport
from culture.agent.supervision.spending_bound import FLOOR_TOKENS, SHARE, SpendingBound


def test_the_floor_lets_short_tasks_be_judged():
    bound = SpendingBound()

    assert bound.allows(FLOOR_TOKENS)
    bound.spend(FLOOR_TOKENS)
    assert not bound.allows(1)


def test_the_share_grows_with_what_the_agent_reports():
    bound = SpendingBound()
    bound.spend(FLOOR_TOKENS)

    bound.observe(UsageReport(Usage(900_000, 800_000, 100_000)))
    assert bound.allowed_tokens == 50_000

    # The result has the same tokens again, and nothing is counted twice.
    bound.observe(Result(usage=Usage(900_000, 800_000, 100_000)))
    assert bound.agent_tokens == 1_000_000
    bound.observe(UsageReport(Usage(100_000)))
    assert bound.agent_tokens == 1_100_000


def test_a_backend_that_reports_nothing_is_estimated_by_what_it_said():
    bound = SpendingBound()

    for _ in range(100):
        for message in call("cat big", "x" * 4000):
            bound.observe(message)

    # Each reply reads everything before it again: 0 + 1000 + 2000 + … tokens.
    assert bound.agent_tokens == 1000 * sum(range(100))


_USED: st.SearchStrategy[Message] = st.one_of(
    st.builds(lambda n: UsageReport(Usage(n)), st.integers(0, 500_000)),
    st.builds(lambda n: Result(usage=Usage(n)), st.integers(0, 500_000)),
)


@given(st.lists(st.tuples(_USED, st.integers(1, 30_000))))
def test_the_bound_holds_at_any_time(events: list[tuple[Message, int]]):
    bound = SpendingBound()
    most = 0
    for message, tokens in events:
        bound.observe(message)
        most = max(most, bound.agent_tokens)
        if bound.allows(tokens):
            bound.spend(tokens)
        assert bound.spent_tokens <= max(FLOOR_TOKENS, SHARE * most)
