"""Handshakes that failed: who fails often is not looked at for a while."""

from culture.federation.attempts import MOST, REMEMBERED, WITHIN_S, Attempts


def test_who_failed_often_waits_and_others_do_not():
    now = 0.0
    attempts = Attempts(lambda: now)
    for _ in range(MOST):
        assert not attempts.are_too_many("10.0.0.9")
        attempts.failed("10.0.0.9")
    assert attempts.are_too_many("10.0.0.9")
    assert not attempts.are_too_many("10.0.0.7")
    now = WITHIN_S + 1
    assert not attempts.are_too_many("10.0.0.9")


def test_who_comes_from_everywhere_fills_no_memory():
    attempts = Attempts(lambda: 0.0)
    for number in range(REMEMBERED * 2):
        attempts.failed(str(number))
    assert len(attempts._failed) == REMEMBERED
