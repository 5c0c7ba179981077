from itertools import islice

from culture.client.backoff import waits_s


def test_waits_double_up_to_a_minute():
    assert list(islice(waits_s(lambda: 0.0), 9)) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_each_wait_is_shortened_by_chance():
    assert list(islice(waits_s(lambda: 1.0), 3)) == [0.75, 1.5, 3.0]
