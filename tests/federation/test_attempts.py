"""Failed handshakes: who fails often under one name has to wait, and nobody else has to."""

import pytest

from culture.federation.links.attempts import (
    MAX_ADDRESSES,
    MAX_FAILURES,
    WINDOW_S,
    HandshakeFailures,
    network_of,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def fail(attempts: HandshakeFailures, name: str, address: str, times: int = MAX_FAILURES) -> None:
    for _ in range(times):
        assert not attempts.is_blocked(name, address)
        attempts.add(name, address)


def test_who_failed_often_waits_and_others_do_not() -> None:
    clock = Clock()
    attempts = HandshakeFailures(clock, ["thor", "orin"])
    fail(attempts, "thor", "10.0.0.9")

    assert attempts.is_blocked("thor", "10.0.0.9")
    assert not attempts.is_blocked("thor", "10.0.0.7")
    assert not attempts.is_blocked("orin", "10.0.0.9")
    clock.now = WINDOW_S + 1
    assert not attempts.is_blocked("thor", "10.0.0.9")


def test_failures_count_together_as_long_as_they_are_within_a_minute() -> None:
    clock = Clock()
    attempts = HandshakeFailures(clock, ["thor"])
    for _ in range(MAX_FAILURES - 1):
        attempts.add("thor", "10.0.0.9")
    clock.now = WINDOW_S - 1
    attempts.add("thor", "10.0.0.9")
    assert attempts.is_blocked("thor", "10.0.0.9")
    clock.now = WINDOW_S + 1
    assert not attempts.is_blocked("thor", "10.0.0.9")


def test_the_configured_certificate_counts_apart() -> None:
    attempts = HandshakeFailures(Clock(), ["thor"])
    fail(attempts, "thor", "127.0.0.1")

    assert attempts.is_blocked("thor", "127.0.0.1")
    assert not attempts.is_blocked("thor", "127.0.0.1", is_pinned=True)


def test_many_failures_under_other_names_do_not_make_room_by_forgetting() -> None:
    attempts = HandshakeFailures(Clock(), ["thor", "orin"])
    fail(attempts, "thor", "10.0.0.9")
    for number in range(MAX_ADDRESSES * 2):
        attempts.add(f"nobody{number}", "10.0.0.9")
        attempts.add("orin", str(number))

    assert attempts.is_blocked("thor", "10.0.0.9")
    assert len(attempts._others) == MAX_ADDRESSES
    assert len(attempts._failed["orin"]) == MAX_ADDRESSES


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("unix", "unix"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("2001:db8::ffff:2:3:4%eth0", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
    ],
)
def test_one_subscriber_is_one_address(address: str, network: str) -> None:
    assert network_of(address) == network
