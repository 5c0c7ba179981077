"""A turn that fails for a quota is reported with what is known about that quota."""

from culture.agent.backends.quota import Quota
from culture.agent.contract import RateLimit, Result

REFUSED = Result("the rate limit of the model is reached (status 429)", status=429)
FULL = RateLimit(False, "five_hour", 1.0, 2000.0)
EXHAUSTED = RateLimit(True, "five_hour", 1.0, 2000.0)


def test_nothing_is_added_to_turns_that_do_not_fail_for_it():
    quota = Quota(lambda: 1000.0)

    assert quota.before(Result()) == []
    assert quota.before(Result("interrupted")) == []
    assert quota.before(FULL) == []


def test_without_any_report_the_reset_is_not_known():
    assert Quota(lambda: 1000.0).before(REFUSED) == [RateLimit(is_exhausted=True)]


def test_what_the_turn_has_reported_is_not_repeated_in_it_but_in_the_next():
    quota = Quota(lambda: 1000.0)
    quota.before(EXHAUSTED)

    assert quota.before(REFUSED) == []
    assert quota.before(REFUSED) == [EXHAUSTED]


def test_a_full_window_is_the_one_that_refuses():
    quota = Quota(lambda: 1000.0)
    quota.before(RateLimit(False, "seven_day", 0.3, 9000.0))
    quota.before(FULL)

    assert quota.before(REFUSED) == [EXHAUSTED]


def test_a_window_that_was_reset_does_not_refuse_any_more():
    quota = Quota(lambda: 2001.0)
    quota.before(EXHAUSTED)
    quota.before(REFUSED)

    assert quota.before(REFUSED) == [RateLimit(is_exhausted=True)]
