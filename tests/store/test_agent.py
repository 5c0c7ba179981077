"""What an agent must not forget, over a restart and over a crash."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from culture.errors import UnavailableError
from culture.store.agent.file import FILE, AgentFile, PastSpending
from culture.store.agent.queue import MOST_AT_ONCE, QueuedMessage, QueueState
from culture.store.agent.read_marks import OWN_MESSAGES, Mark


def question(
    msgid: str, sender: str = "spark-ori", channel: str | None = "#ops", said_ms: int = 0
) -> QueuedMessage:
    return QueuedMessage(msgid, "mention", sender, channel, f"text of {msgid}", said_ms)


def ask(file: AgentFile, *questions: QueuedMessage) -> list[bool]:
    with file.at_once():
        return [file.queue.add(each, now_ms=0) for each in questions]


def inject(file: AgentFile, turn: str = "t1") -> list[str]:
    with file.at_once():
        entries = file.queue.next()
        file.queue.inject(entries, turn, 0)
    return [entry.question.msgid for entry in entries]


def states(file: AgentFile) -> dict[str, str]:
    return {entry.question.msgid: entry.state.value for entry in file.queue.last(100)}


@pytest.fixture
def file(tmp_path):
    file = AgentFile(tmp_path)
    yield file
    file.close()


@pytest.fixture
def reopened(file: AgentFile, tmp_path: Path) -> Iterator[Callable[[], AgentFile]]:
    opened = [file]

    def reopen() -> AgentFile:
        opened[-1].close()
        opened.append(AgentFile(tmp_path))
        return opened[-1]

    yield reopen
    opened[-1].close()


def test_a_message_is_taken_once(file):
    assert ask(file, question("m1"), question("m1")) == [True, False]
    inject(file)
    with file.at_once():
        file.queue.end_all(QueueState.ANSWERED, 0)

    assert ask(file, question("m1")) == [False]
    assert states(file) == {"m1": "answered"}


def test_who_waits_in_one_conversation_is_taken_together_in_order(file):
    ask(
        file,
        question("m1", "spark-ori"),
        question("m2", "thor-bo", None),
        question("m3", "thor-al", "#OPS"),
        question("m4", "spark-ori", None),
    )

    assert inject(file) == ["m1", "m3"]
    assert inject(file) == ["m2"]
    assert inject(file) == ["m4"]
    assert inject(file) == []


def test_no_prompt_is_endless(file):
    ask(file, *(question(f"m{number}") for number in range(MOST_AT_ONCE + 1)))

    assert len(inject(file)) == MOST_AT_ONCE
    assert len(inject(file)) == 1


def test_an_answer_is_for_the_conversation_it_was_given_in(file):
    ask(file, question("m1"), question("m2", channel=None))
    inject(file)

    with file.at_once():
        assert file.queue.answer_one("#elsewhere", 0) == 0
        assert file.queue.answer_one("#Ops", 0) == 1
    assert states(file) == {"m1": "answered", "m2": "queued"}


def test_what_waits_again_may_have_been_answered(file):
    ask(file, question("m1"))
    inject(file)
    ask(file, question("m2"))

    with file.at_once():
        file.queue.requeue(0, is_crash=True)
        assert file.queue.answer_one("#ops", 0) == 1
        assert file.queue.answer_one("#ops", 0) == 0
    assert states(file) == {"m1": "answered", "m2": "queued"}


def test_one_message_answers_one_of_those_that_were_taken_together(file):
    ask(file, question("m1"), question("m2"))
    inject(file)

    with file.at_once():
        file.queue.answer_one("#ops", 0)
    assert states(file) == {"m1": "answered", "m2": "injected"}
    with file.at_once():
        file.queue.end_all(QueueState.ANSWERED, 0)
    assert states(file) == {"m1": "answered", "m2": "answered"}


def test_what_was_not_answered_waits_again_in_its_place_as_a_repeat(file, reopened):
    ask(file, question("m1"), question("m2", channel=None))
    inject(file)

    file = reopened()
    with file.at_once():
        assert file.queue.requeue(0, is_crash=True) == 1

    [entry] = file.queue.next()
    assert (entry.question.msgid, entry.is_repeat, entry.turn) == ("m1", True, "t1")


def test_what_crashed_so_often_is_known(file):
    ask(file, question("m1"))
    for is_crash in (True, False, True):
        inject(file)
        with file.at_once():
            file.queue.requeue(0, is_crash=is_crash)

    assert [entry.tries for entry in file.queue.fatal(2)] == [3]
    assert file.queue.fatal(3) == []


def test_what_is_too_old_is_given_up_with_a_reason(file):
    ask(file, question("m1", said_ms=1000), question("m2", said_ms=3000))
    assert file.queue.oldest_ms() == 1000

    with file.at_once():
        file.queue.give_up(file.queue.waiting_since(2000), "too old", 0)

    assert [(entry.state, entry.note) for entry in file.queue.last(10)] == [
        (QueueState.EXPIRED, "too old"),
        (QueueState.QUEUED, ""),
    ]
    assert file.queue.count(QueueState.QUEUED) == 1


def test_who_waits_behind_too_many_is_known(file):
    ask(file, question("m1"), question("m2"), question("m3"))

    assert [entry.question.msgid for entry in file.queue.beyond(2)] == ["m3"]
    assert file.queue.beyond(3) == []


def test_what_is_done_is_forgotten_after_a_while_and_what_waits_is_not(file):
    ask(file, question("m1"), question("m2", channel=None))
    inject(file)
    with file.at_once():
        file.queue.end_all(QueueState.ANSWERED, now_ms=1000)
        file.queue.forget(before_ms=1001)

    assert states(file) == {"m2": "queued"}


def test_how_far_was_heard_is_written_with_the_next_change(file, reopened):
    file.hearing.set_mark("#Ops", Mark("m1", "2026-01-01T00:00:00.000Z"))
    assert file.hearing.mark_of("#ops") == Mark("m1", "2026-01-01T00:00:00.000Z")

    file = reopened()
    assert file.hearing.mark_of("#ops") is None

    file.hearing.set_mark("#Ops", Mark("m1", "2026-01-01T00:00:00.000Z"))
    ask(file, question("m1"))
    file = reopened()
    assert file.hearing.mark_of("#OPS") == Mark("m1", "2026-01-01T00:00:00.000Z")


def test_how_far_the_agent_has_read_is_written_along(file, reopened):
    file.hearing.set_read("#Ops", Mark("m1", "2026-01-01T00:00:00.000Z"))
    ask(file, question("m2"))

    file = reopened()

    assert file.hearing.read_until("#ops") == Mark("m1", "2026-01-01T00:00:00.000Z")
    assert file.hearing.mark_of("#ops") is None


def test_nothing_of_a_change_that_fails_is_left(file, reopened):
    file.hearing.set_mark("#ops", Mark("m1", "2026-01-01T00:00:00.000Z"))

    def fail() -> None:
        with file.at_once():
            file.queue.add(question("m1"), 0)
            raise sqlite3.OperationalError("no room")

    with pytest.raises(UnavailableError, match=r"cannot use '.*agent.db': no room"):
        fail()
    assert states(file) == {}
    assert file.hearing.has_unwritten
    file = reopened()
    assert file.hearing.mark_of("#ops") is None


def test_an_agent_knows_what_it_said_last(file, reopened):
    with file.at_once():
        for number in range(OWN_MESSAGES + 1):
            file.hearing.add_own(f"m{number}")
        file.hearing.add_own("m5")
    assert "m0" not in file.hearing.own

    file = reopened()
    assert "m0" not in file.hearing.own
    assert "m1" in file.hearing.own
    assert f"m{OWN_MESSAGES}" in file.hearing.own


def test_totals_from_before_there_was_a_ledger_are_kept_until_they_are_moved(file):
    with file.at_once():
        file._connection.execute("INSERT INTO spent VALUES ('2026-01-01', 2, 100, 80, 10, 0.5)")

    assert file.past_spending() == [PastSpending("2026-01-01", 2, 100, 80, 10, 0.5)]
    file.forget_past_spending()
    assert file.past_spending() == []


def test_single_values_are_kept(file, reopened):
    assert file.kept("session") == ""
    file.keep("session", "one")
    file.keep("session", "two")

    assert reopened().kept("session") == "two"


def test_the_file_is_for_its_owner_alone(file, tmp_path):
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
