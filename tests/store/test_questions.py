"""Questions on disk: exactly one answer counts, whoever writes it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from culture.store.agent.file import AgentFile
from culture.store.agent.questions import Answer, NewQuestion, QuestionKind, QuestionState

NEW = NewQuestion(QuestionKind.PERMISSION, "may I?", "#ops", ("yes", "no"), '{"tool": "Bash"}', subject="m1")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AgentFile]:
    file = AgentFile(tmp_path)
    with file.at_once():
        assert file.questions.add("qabc", NEW, 1000, is_waiting=True)
    yield file
    file.close()


def test_a_question_comes_back_as_it_was_written(file):
    question = file.questions.get("qabc")

    assert question is not None
    assert (question.kind, question.state, question.options) == (NEW.kind, QuestionState.ASKED, ("yes", "no"))
    assert (question.parameters, question.is_waiting, question.is_open) == (NEW.parameters, True, True)


def test_an_id_is_used_once(file):
    with file.at_once():
        assert not file.questions.add("qabc", NEW, 2000, is_waiting=False)


def test_the_second_answer_does_not_count(file):
    with file.at_once():
        assert file.questions.answer("qabc", Answer("no", "no", "spark-ori", "person"), 2000)
        assert not file.questions.answer("qabc", Answer("yes", "yes", "spark-bo", "person"), 2001)

    question = file.questions.get("qabc")
    assert question is not None
    assert (question.choice, question.answered_by) == ("no", "spark-ori")


def test_of_many_processes_that_answer_at_once_one_wins(file, tmp_path):
    won: list[str] = []
    ready = threading.Barrier(6)

    def answer(nick: str) -> None:
        other = AgentFile(tmp_path)
        ready.wait()
        with other.at_once():
            if other.questions.answer("qabc", Answer("yes", "yes", nick, "person"), 2000):
                won.append(nick)
        other.close()

    threads = [threading.Thread(target=answer, args=(f"spark-{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    question = file.questions.get("qabc")
    assert question is not None
    assert won == [question.answered_by]


def test_a_permission_that_came_as_a_message_is_used_once_and_for_nothing_else(file):
    with file.at_once():
        assert file.questions.use(NEW.parameters, 1500) is None
        file.questions.answer("qabc", Answer("yes", "yes", "spark-ori", "person"), 2000)
        assert file.questions.use(NEW.parameters, 2500) is None
        file.questions.delivered("qabc", 3000, is_used=False)

        assert file.questions.use('{"tool": "Edit"}', 4000) is None
        assert file.questions.use(NEW.parameters, 4000) is not None
        assert file.questions.use(NEW.parameters, 4000) is None


def test_a_permission_that_the_waiting_call_got_is_used(file):
    with file.at_once():
        file.questions.answer("qabc", Answer("yes", "yes", "spark-ori", "person"), 2000)
        file.questions.delivered("qabc", 3000, is_used=True)

        assert file.questions.use(NEW.parameters, 4000) is None


def test_a_refusal_is_no_permission(file):
    with file.at_once():
        file.questions.answer("qabc", Answer("no", "no", "spark-ori", "person"), 2000)
        file.questions.delivered("qabc", 3000, is_used=False)

        assert file.questions.use(NEW.parameters, 4000) is None


def test_the_same_question_is_known_by_the_message_that_it_is_about(file):
    assert file.questions.same(NEW) is not None
    assert file.questions.same(NEW._replace(subject="m2")) is None
    assert file.questions.same(NEW._replace(text="may I now?")) is None
    assert file.questions.same(NEW._replace(subject="")) is None
