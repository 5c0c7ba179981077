"""One turn at a time, in the order they were asked for."""

from itertools import count

import pytest

from culture.agent.status import describe
from culture.agent.turns import Request, Turns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock) -> Turns:
    numbers = count(1)
    return Turns(clock=clock, new_id=lambda: f"t{next(numbers)}")


ORI = Request("spark-ori", "#ops", "[IRC @mention in #ops] <spark-ori> hi")
BO = Request("thor-bo", None, "[IRC DM] <thor-bo> hi")


def test_nothing_begins_while_nobody_waits(turns):
    assert turns.begin() is None


def test_the_second_waits_for_the_first(turns):
    turns.add(ORI)
    turns.add(BO)

    assert turns.begin().request is ORI
    assert turns.begin() is None
    turns.end()
    assert turns.begin().request is BO


@pytest.mark.parametrize(
    ("spoke", "error", "outcome"),
    [(True, "", "answered"), (False, "", "silent"), (True, "overloaded", "failed")],
)
def test_how_a_turn_ended(turns, clock, spoke, error, outcome):
    turns.add(ORI)
    turns.begin()
    if spoke:
        turns.spoke()
    clock.now += 1.5

    ended = turns.end(error)

    assert (ended.outcome, ended.duration_s, ended.error) == (outcome, 1.5, error)


def test_what_is_said_between_turns_belongs_to_none(turns):
    turns.spoke()
    turns.add(ORI)
    turns.begin()

    assert turns.end().outcome == "silent"


def test_an_end_without_a_turn_is_none(turns):
    assert turns.end() is None
    assert turns.count == 0


def test_giving_up_names_everyone_who_waited(turns):
    turns.add(ORI)
    turns.add(BO)
    turns.begin()

    assert turns.give_up() == [BO]
    assert turns.waiting == ()


def test_an_answer_goes_where_the_question_came_from():
    assert (ORI.reply_to, BO.reply_to) == ("#ops", "thor-bo")


def test_the_status_tells_it_all_in_a_line(turns, clock):
    def status() -> str:
        return describe(turns, ["#general", "#ops"], "127.0.0.1:6667")

    assert status() == "idle in #general, #ops on 127.0.0.1:6667"
    turns.add(ORI)
    turns.add(BO)
    turns.begin()
    assert status() == "turn t1 for spark-ori in #ops; 1 waiting"
    turns.spoke()
    clock.now += 0.9
    turns.end()
    turns.begin()
    assert status() == "turn t2 for thor-bo in private"
    clock.now += 2
    turns.end("overloaded")
    assert status() == "idle in #general, #ops on 127.0.0.1:6667; 2 turns, last failed after 2.0 s"
