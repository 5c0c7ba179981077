from culture.ctl.up.restarter import backoff_s


def test_the_delay_doubles_up_to_a_minute():
    assert [backoff_s(failures) for failures in (1, 2, 3, 4, 7, 5000)] == [1, 2, 4, 8, 60, 60]
