"""What is tried again, how often, and after how long."""

import pytest

from culture.agent.turns.retry import retry_delay_s


@pytest.mark.parametrize(
    ("status", "waits"),
    [
        (None, [None]),
        (400, [None]),
        (401, [None]),
        (403, [None]),
        (429, [10, 20, 40, 80, 160, 300, 300]),
        (529, [10, 20, 40, 80, 160, 300, 300]),
        (500, [5, 10, None]),
    ],
)
def test_by_rule(status, waits):
    assert [retry_delay_s(status, failures) for failures in range(1, len(waits) + 1)] == waits


def test_a_model_that_is_busy_for_days_is_asked_every_few_minutes():
    assert retry_delay_s(529, 10_000) == 300
