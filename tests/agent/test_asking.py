"""Which of the things said to an agent is the answer to a question of its own."""

import pytest

from culture.agent.asking import Questions
from culture.client.events import Said

OWN = "spark-claude"


def said(
    sender: str, text: str, channel: str | None = None, reply: str = "", *, notice: bool = False
) -> Said:
    tags = {"+draft/reply": reply} if reply else {}
    return Said(sender, channel, text, notice, False, None, None, tags)


@pytest.fixture
async def questions() -> Questions:
    members = {"#ops": ["spark-claude", "spark-ori", "thor-bo", "thor-lea"]}
    return Questions(lambda: OWN, lambda channel: members.get(channel, []), ["spark-*", "thor-bo"])


CALL = "@spark-claude the second one"


@pytest.mark.parametrize(
    ("answer", "target", "is_one"),
    [
        # Asked in a channel: whoever calls the agent there, or writes to it in private and is there.
        (said("spark-ori", CALL, "#ops"), "#ops", True),
        (said("thor-bo", CALL, "#OPS"), "#ops", True),
        (said("spark-ori", "the second one"), "#ops", True),
        (said("spark-ori", "\1ACTION nods at @spark-claude\1", "#ops"), "#ops", True),
        (said("spark-ori", "the second one", "#ops"), "#ops", False),
        (said("spark-ori", CALL, "#other"), "#ops", False),
        (said("spark-lea", "I am not there"), "#ops", False),
        # Asked of somebody: they alone, in private or by a mention anywhere.
        (said("spark-ori", "the second one"), "spark-ori", True),
        (said("SPARK-Ori", CALL, "#ops"), "spark-ori", True),
        (said("spark-ori", "the second one", "#ops"), "spark-ori", False),
        (said("thor-bo", "the second one"), "spark-ori", False),
        # A reply to the question is one wherever it is said; a reply to something else is none.
        (said("thor-bo", "yes", "#ops", reply="q1"), "#ops", True),
        (said("thor-bo", "yes", "#ops", reply="q1"), "spark-ori", True),
        (said("spark-ori", CALL, "#ops", reply="m9"), "#ops", False),
        (said("spark-ori", "@spark-claude status?", "#ops"), "#ops", False),
        # Whom `allow_from` does not let.
        (said("thor-lea", CALL, "#ops"), "#ops", False),
        (said("thor-lea", "the second one"), "#ops", False),
        (said("thor-lea", "the second one"), "thor-lea", False),
        (said("thor-lea", "yes", "#ops", reply="q1"), "#ops", False),
        # Programs, and the agent itself.
        (said("spark-ori", CALL, "#ops", notice=True), "#ops", False),
        (said("spark-ori", "\1VERSION\1"), "spark-ori", False),
        (said(OWN, CALL, "#ops"), "#ops", False),
    ],
)
async def test_what_counts_as_an_answer(questions, answer, target, is_one):
    with questions.asked(target) as question:
        question.msgids = ("q1", "q2")

        assert questions.take(answer) is is_one
        assert question.answer.done() is is_one


async def test_only_one_answer_is_taken(questions):
    with questions.asked("#ops") as question:
        assert questions.take(said("spark-ori", CALL, "#ops"))
        assert not questions.take(said("thor-bo", CALL, "#ops"))

        assert question.answer.result().sender == "spark-ori"


async def test_who_asked_first_is_answered_first(questions):
    with questions.asked("#ops") as first, questions.asked("#ops") as second:
        questions.take(said("spark-ori", f"{CALL} a", "#ops"))
        questions.take(said("spark-ori", f"{CALL} b", "#ops"))

    assert first.answer.result().text.endswith(" a")
    assert second.answer.result().text.endswith(" b")


async def test_a_reply_finds_its_own_question(questions):
    with questions.asked("#ops") as first, questions.asked("#ops") as second:
        second.msgids = ("q2",)
        questions.take(said("spark-ori", CALL, "#ops", reply="q2"))

    assert not first.answer.done()
    assert second.answer.done()


async def test_what_comes_after_the_waiting_is_no_answer(questions):
    with questions.asked("#ops"):
        assert questions.targets() == ["#ops"]

    assert not questions.take(said("spark-ori", CALL, "#ops"))
