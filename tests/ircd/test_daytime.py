"""The time of day, with a clock that is put right."""

import pytest
from support.network import Clock

from culture.ircd.recording.clock import MOST_S, forward


def test_it_is_what_the_clock_says():
    clock = Clock()
    now = forward(clock)
    told = []
    for step in (0.0, 1.0, 0.5, 31_536_000.0):
        clock.advance(step)
        told.append(now() - 1_000_000.0)
    assert told == [0.0, 1.0, 1.5, 31_536_001.5]


@pytest.mark.parametrize("back", [0.001, 1.0, MOST_S])
def test_it_passes_slowly_until_a_clock_that_was_put_back_has_caught_up(back: float):
    clock = Clock()
    now = forward(clock)
    before = now()
    clock.advance(-back)
    told = [now()]
    while told[-1] != clock():
        clock.advance(back / 10)
        told.append(now())
    assert before < told[0] < before + 0.002
    assert told == sorted(set(told))
    assert clock() == pytest.approx(before + back, abs=back / 10 + 0.002)


def test_a_clock_that_is_put_back_again_meanwhile_takes_nothing_back():
    clock = Clock()
    now = forward(clock)
    told = []
    for step in (0.0, -20.0, 4.0, -20.0, 4.0):
        clock.advance(step)
        told.append(now() - 1_000_000.0)
    assert told == pytest.approx([0.0, 0.001, 2.001, 2.002, 4.002])


def test_a_clock_that_was_a_year_ahead_is_believed_when_it_is_put_right():
    clock = Clock()
    now = forward(clock)
    clock.advance(31_536_000.0)
    now()
    clock.advance(-31_536_000.0)
    assert now() == 1_000_000.0
