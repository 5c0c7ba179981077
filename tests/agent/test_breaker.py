"""Three crashes in five minutes are too many; three in an hour are not."""

import pytest

from culture.agent.backend.circuit_breaker import CircuitBreaker


@pytest.mark.parametrize(
    ("crashes_at", "opens"),
    [
        ([0], [False]),
        ([0, 1], [False, False]),
        ([0, 1, 2], [False, False, True]),
        ([0, 150, 300], [False, False, True]),
        ([0, 150, 301], [False, False, False]),
        ([0, 150, 301, 400], [False, False, False, True]),
        ([0, 1, 2, 5000], [False, False, True, True]),
    ],
)
def test_it_opens_with_the_third_crash_within_the_window(crashes_at, opens):
    breaker = CircuitBreaker(3, 300)

    assert [breaker.crashed(at) for at in crashes_at] == opens


def test_closing_it_forgets_the_past():
    breaker = CircuitBreaker(3, 300)
    for at in (0, 1, 2):
        breaker.crashed(at)

    breaker.close()

    assert not breaker.is_open
    assert [breaker.crashed(at) for at in (3, 4, 5)] == [False, False, True]
