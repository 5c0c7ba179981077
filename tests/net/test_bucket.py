"""The token bucket: what it gives in any stretch of time, and that it never forgets or invents a token."""

from hypothesis import given
from hypothesis import strategies as st

from culture.net.limits.token_bucket import Rate, TokenBucket


def test_it_starts_full_and_fills_with_time():
    bucket = TokenBucket(Rate(per_s=8, burst=5), 100.0)
    assert bucket.take(8, 100.0) == 5
    assert bucket.take(1, 100.0) == 0
    assert bucket.wait_s(100.0) == 0.125
    assert bucket.take(8, 100.375) == 3
    assert bucket.take(8, 1000.0) == 5


def test_what_is_owed_is_paid_back_first():
    bucket = TokenBucket(Rate(per_s=10, burst=5), 0.0)
    bucket.owe(15)
    assert bucket.take(1, 0.9) == 0
    assert abs(bucket.wait_s(0.9) - 0.2) < 1e-9
    assert bucket.take(1, 1.2) == 1


def test_a_small_part_is_lent_and_counts_again_when_it_comes_back():
    bucket = TokenBucket(Rate(per_s=10, burst=80), 0.0)
    assert (bucket.lend(4), bucket.lend(32)) == (4, 9)
    bucket.owe(-13)
    assert bucket.take(100, 0.0) == 80
    assert bucket.lend(32) == 0
    bucket.owe(8)
    assert bucket.lend(32) == 0


def test_a_burst_of_none_still_lets_lines_through_one_by_one():
    bucket = TokenBucket(Rate(per_s=2, burst=0), 0.0)
    assert [bucket.take(3, now) for now in (0.0, 0.1, 0.6, 5.0)] == [1, 0, 1, 1]


steps = st.lists(st.tuples(st.floats(-1, 20), st.integers(0, 50)), max_size=50)


@given(per_s=st.integers(1, 100), burst=st.integers(1, 100), steps=steps)
def test_it_never_gives_more_than_the_burst_and_what_the_time_brought(per_s: int, burst: int, steps):
    bucket, now, latest, given_out = TokenBucket(Rate(per_s, burst), 0.0), 0.0, 0.0, 0
    for passed_s, wanted in steps:
        now += passed_s
        latest = max(latest, now)
        given_out += bucket.take(wanted, now)
        assert given_out <= burst + latest * per_s + 1e-6


@given(per_s=st.integers(1, 1000), burst=st.integers(1, 1000), spent=st.integers(0, 2000))
def test_after_the_wait_there_is_a_token(per_s: int, burst: int, spent: int):
    bucket = TokenBucket(Rate(per_s, burst), 0.0)
    bucket.owe(spent)
    assert bucket.take(1, bucket.wait_s(0.0) + 1e-6) == 1


def test_time_of_the_loop_is_paid_for_by_waiting():
    """A client may use a tenth of the loop's time: for 0.2 s of it, it waits for 2 s."""
    bucket = TokenBucket(Rate(per_s=10, burst=1), 0.0)
    assert bucket.take(1, 0.0) == 1

    bucket.charge_time(0.2)

    assert bucket.take(1, 2.0) == 0
    assert bucket.take(1, 2.2) == 1


def test_a_server_that_was_stopped_does_not_charge_its_clients_for_it():
    bucket = TokenBucket(Rate(per_s=10, burst=1), 0.0)
    bucket.charge_time(3600)
    assert bucket.wait_s(0.0) <= 10.1
