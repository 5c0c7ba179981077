"""One turn at a time: how it lives, how it ends, and how that reads in a line."""

from itertools import count

import pytest

from culture.agent.contract import Assistant, Text, ToolUse
from culture.agent.reporting.status import describe
from culture.agent.turns.turns import TOOL_STALL_FACTOR, Turns
from culture.store.agent.queue import QueuedMessage, QueueEntry, QueueState


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


def entry(sender: str, channel: str | None) -> QueueEntry:
    return QueueEntry(
        1, QueueState.QUEUED, QueuedMessage("m1", "mention", sender, channel, "hi", 0), 0, "", 0, ""
    )


ORI, BO = entry("spark-ori", "#ops"), entry("thor-bo", None)
A_TOOL = Assistant("m", (Text("let me see"), ToolUse("1", "Bash", {})))
TEXT = Assistant("m", (Text("so"),))


@pytest.mark.parametrize(
    ("spoke", "error", "outcome"),
    [(True, "", "answered"), (False, "", "silent"), (True, "overloaded", "failed")],
)
def test_how_a_turn_ended(turns, clock, spoke, error, outcome):
    turns.begin([ORI])
    if spoke:
        turns.agent_spoke()
    clock.now += 1.5

    ended = turns.end(error)

    assert (ended.outcome, ended.duration_s, ended.error) == (outcome, 1.5, error)


def test_what_is_said_between_turns_belongs_to_none(turns):
    turns.agent_spoke()
    turns.begin([ORI])

    assert turns.end().outcome == "silent"


def test_an_end_without_a_turn_is_none(turns):
    assert turns.end() is None
    assert turns.count == 0


def test_a_turn_is_where_its_question_came_from(turns):
    assert turns.begin([ORI]).where == "in #ops"
    turns.end()
    assert turns.begin([BO]).where == "in private"


def test_everyone_who_is_answered_is_named_once(turns):
    assert turns.begin([ORI, entry("spark-bo", "#ops"), ORI]).senders == "spark-ori, spark-bo"


def test_a_turn_stalls_some_time_after_its_last_sign_of_life(turns, clock):
    turn = turns.begin([ORI])
    assert turn.stalls_at_s(300) == 400

    turn.said(TEXT, 150)
    assert turn.stalls_at_s(300) == 450

    turn.said(A_TOOL, 200)
    assert turn.stalls_at_s(300) == 200 + 300 * TOOL_STALL_FACTOR

    turn.said(TEXT, 250)
    assert turn.stalls_at_s(300) == 550


def test_speaking_is_a_sign_of_life(turns, clock):
    turn = turns.begin([ORI])
    clock.now = 170
    turns.agent_spoke()

    assert turn.stalls_at_s(300) == 470


def test_the_status_tells_it_all_in_a_line(turns, clock):
    def status(waiting: int = 0, **what: str) -> str:
        return describe(turns, ["#general", "#ops"], "127.0.0.1:6667", waiting, **what)

    assert status() == "idle in #general, #ops on 127.0.0.1:6667"
    turns.begin([ORI])
    assert status(1) == "turn t1 for spark-ori in #ops; 1 waiting"
    turns.agent_spoke()
    clock.now += 0.9
    turns.end()
    turns.begin([BO])
    assert status() == "turn t2 for thor-bo in private"
    clock.now += 2
    turns.end("overloaded")
    assert status() == "idle in #general, #ops on 127.0.0.1:6667; 2 turns, last failed after 2.0 s"
    assert status(1, absence="not connected: gone", paused="by hand") == "not connected: gone; 1 waiting"
    assert status(3, held_back="no budget is left") == "held back: no budget is left; 3 waiting"
    assert status(3, paused="3 crashes") == "paused: 3 crashes; 3 waiting"
