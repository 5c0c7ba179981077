"""Which of the things said to an agent is the answer to a question of its own."""

import asyncio

import pytest

from culture.agent.tools.pending_questions import PendingQuestions, is_question
from culture.client.events import Said
from culture.errors import TemporaryError

OWN = "spark-claude"


def said(
    sender: str, text: str, channel: str | None = None, reply: str = "", *, notice: bool = False
) -> Said:
    tags = {"+draft/reply": reply} if reply else {}
    return Said(sender, channel, text, notice, False, None, None, tags)


@pytest.fixture
async def questions() -> PendingQuestions:
    members = {"#ops": ["spark-claude", "spark-ori", "thor-bo", "thor-lea"]}
    return PendingQuestions(lambda: OWN, lambda channel: members.get(channel, []), ["spark-*", "thor-bo"])


CALL = "@spark-claude the second one"


@pytest.mark.parametrize(
    ("answer", "target", "is_one"),
    [
        # Asked in a channel: whoever is in it and calls the agent there.
        (said("spark-ori", CALL, "#ops"), "#ops", True),
        (said("spark-ori", "spark-claude: the second one", "#ops"), "#ops", True),
        (said("thor-bo", CALL, "#OPS"), "#ops", True),
        (said("spark-ori", "the second one"), "#ops", False),
        (said("spark-eve", CALL, "#ops"), "#ops", False),
        (said("spark-eve", "yes", "#ops", reply="q1"), "#ops", False),
        (said("spark-ori", "\1ACTION nods at @spark-claude\1", "#ops"), "#ops", True),
        (said("spark-ori", "the second one", "#ops"), "#ops", False),
        (said("spark-ori", CALL, "#other"), "#ops", False),
        (said("spark-lea", "I am not there"), "#ops", False),
        # Asked of somebody in private: they alone, in private.
        (said("SPARK-ori", "the second one"), "spark-ori", True),
        (said("spark-ori", CALL, "#ops"), "spark-ori", False),
        (said("spark-ori", CALL, "#ops", reply="q1"), "spark-ori", False),
        (said("thor-bo", "yes", reply="q1"), "spark-ori", False),
        (said("spark-ori", "the second one", "#ops"), "spark-ori", False),
        (said("thor-bo", "the second one"), "spark-ori", False),
        # A reply to the question needs no mention; a reply to something else is none. Who was not asked, or
        # speaks elsewhere, does not answer by quoting the question.
        (said("thor-bo", "yes", "#ops", reply="q1"), "#ops", True),
        (said("spark-ori", "yes", reply="q2"), "spark-ori", True),
        (said("thor-bo", "yes", "#ops", reply="q1"), "spark-ori", False),
        (said("thor-bo", "yes", "#other", reply="q1"), "#ops", False),
        (said("thor-bo", "yes", reply="q1"), "#ops", False),
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


@pytest.mark.parametrize(
    ("text", "answer", "is_one"),
    [
        ("@spark-ori may I?", said("spark-ori", CALL, "#ops"), True),
        ("spark-ori, thor-bo: may I?", said("thor-bo", CALL, "#ops"), True),
        ("spark-ori: may I?", said("thor-bo", CALL, "#ops"), False),
        ("@spark-ori may I?", said("thor-bo", "yes", "#ops", reply="q1"), False),
        # Who is named and not there cannot answer; so anybody may.
        ("@thor-gone may I?", said("thor-bo", CALL, "#ops"), True),
        ("@spark-claude asks: may I?", said("thor-bo", CALL, "#ops"), True),
    ],
)
async def test_whom_a_question_names_answers_it_alone(questions, text, answer, is_one):
    with questions.asked("#ops", text) as question:
        question.msgids = ("q1",)
        assert questions.take(answer) is is_one


async def test_who_is_asked_may_change_their_nick(questions):
    with questions.asked("spark-ori") as private, questions.asked("#ops", "spark-ori: may I?") as public:
        questions.renamed("spark-ori", "spark-ori2")
        assert not questions.take(said("spark-ori", "yes"))
        assert questions.take(said("spark-ori2", "yes"))
        assert questions.take(said("spark-ori2", CALL, "#ops"))
    assert private.answer.done()
    assert public.answer.done()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("which one?", True),
        ("@spark-claude which one do you mean? :)", True),
        ("why\uff1f", True),
        ("you want to delete it?!", True),
        ("yes", False),
        ("which? the second one", False),
        ("https://example.org/?q=1", False),
    ],
)
def test_what_is_a_question(text, is_one):
    assert is_question(text) is is_one


async def test_a_question_in_return_is_no_answer(questions):
    with questions.asked("#ops") as question:
        assert questions.take(said("spark-ori", "@spark-claude which one?", "#ops"))
        assert not question.answer.done()
        waiting = asyncio.create_task(question.wait(60))
        await asyncio.sleep(0)
        assert questions.take(said("spark-ori", CALL, "#ops"))
        assert (await waiting).text == CALL


async def test_who_was_only_asked_back_is_told_so():
    questions = PendingQuestions(lambda: OWN, lambda channel: ["spark-ori"], ["*"], counter_question_s=0.01)
    with questions.asked("#ops") as question:
        waiting = asyncio.create_task(question.wait(60))
        await asyncio.sleep(0)
        questions.take(said("spark-ori", "@spark-claude which\none?", "#ops"))
        with pytest.raises(TemporaryError, match="counter-question: <spark-ori> @spark-claude which one"):
            await waiting


async def test_what_was_asked_back_is_not_lost_when_nobody_waits_any_more():
    unheard: list[Said] = []
    questions = PendingQuestions(lambda: OWN, lambda channel: [], ["*"], unheard.append)
    back = said("spark-ori", "which one?")
    with questions.asked("spark-ori"):
        questions.take(back)
    assert unheard == [back]
