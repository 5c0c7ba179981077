"""A text as lines, and what is left of them when some have arrived."""

from itertools import count

import pytest

from culture.client.composing import Limits, compose_lines, compose_messages, rest_of

TEXT = "one\ntwo\nthree"


@pytest.mark.parametrize(("arrived", "left"), [(0, ["one", "two", "three"]), (2, ["three"]), (3, [])])
def test_of_single_lines_those_are_left_that_did_not_arrive(arrived, left):
    [burst] = compose_lines("PRIVMSG", "#ops", TEXT, 400, {}).bursts

    assert rest_of(burst, arrived) == [f"PRIVMSG #ops :{text}" for text in left]


def test_a_batch_arrives_whole_or_not_at_all():
    references = (f"m{number}" for number in count(1))
    [burst] = compose_messages("PRIVMSG", "#ops", TEXT, 400, {}, Limits(4096, 24), references).bursts

    assert rest_of(burst, 0) == burst
    assert rest_of(burst, 1) == []
