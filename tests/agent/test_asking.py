"""Which of the things said to an agent is the answer to a question of its own."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from culture.agent.questions.actions import Actions
from culture.agent.questions.matching import Matcher
from culture.agent.questions.questions import Questions
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.wording import is_question
from culture.agent.turns.turns import Turns
from culture.client.client import Sent
from culture.client.events import Said
from culture.config.agent.trust import TrustConfig
from culture.errors import TemporaryError, UnavailableError
from culture.store.agent.file import AgentFile
from culture.store.agent.questions import QuestionKind, StoredQuestion

OWN = "spark-claude"


def said(
    sender: str, text: str, channel: str | None = None, reply: str = "", *, notice: bool = False
) -> Said:
    tags = {"+draft/reply": reply} if reply else {}
    return Said(sender, channel, text, notice, False, None, None, tags)


class Asking:
    """An agent's questions, with an IRC server that takes every message and a model that answers nothing."""

    def __init__(
        self, directory: Path, members: dict[str, list[str]], allow_from: Iterable[str], soon_s: float = 10.0
    ) -> None:
        self.file = AgentFile(directory)
        self._is_posted = asyncio.Event()
        self.unread: list[Said] = []
        self._msgids: tuple[str, ...] = ()
        self._ids = iter(f"q{number}x" for number in range(100))
        actions = Actions(
            own_nick=lambda: OWN,
            post=self._post,
            notify=lambda place, text: None,
            alert=lambda alert: None,
            wake=lambda: None,
            stop_turn=lambda why: None,
            ask_aside=self._ask_aside,
            on_unread=self.unread.append,
        )
        self.questions = Questions(
            QuestionRecords(self.file, OWN, lambda: 1_000_000),
            Matcher(lambda: OWN, lambda channel: members.get(channel, []), tuple(allow_from)),
            TrustConfig(),
            actions,
            Turns(clock=lambda: 0.0, new_id=lambda: "t1"),
            make_id=lambda: next(self._ids),
            counter_question_s=soon_s,
        )

    async def asks(
        self, place: str, text: str = "which?", msgids: tuple[str, ...] = ()
    ) -> "asyncio.Task[StoredQuestion]":
        """Ask, and return when the question is on IRC."""
        self._msgids = msgids
        self._is_posted.clear()
        asking = asyncio.create_task(self.questions.ask(QuestionKind.ASK, text, place, timeout_s=60))
        await self._is_posted.wait()
        return asking

    def answers(self) -> list[str]:
        return [each.answer for each in self.file.questions.last(100)]

    async def _post(self, place: str, text: str) -> Sent:
        self._is_posted.set()
        return Sent(text.split("\n"), self._msgids)

    async def _ask_aside(self, prompt: str, question: StoredQuestion) -> str:
        raise UnavailableError("this backend cannot answer beside its turn")


MEMBERS = {"#ops": ["spark-claude", "spark-ori", "thor-bo", "thor-lea"]}


@contextmanager
def asking_in(directory: Path, *allow_from: str, soon_s: float = 10.0) -> Iterator[Asking]:
    asking = Asking(directory, MEMBERS, allow_from, soon_s)
    try:
        yield asking
    finally:
        asking.questions.stop()
        asking.file.close()


@pytest.fixture
async def agent(tmp_path):
    with asking_in(tmp_path, "spark-*", "thor-bo") as asking:
        yield asking


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
async def test_what_counts_as_an_answer(agent, answer, target, is_one):
    waiting = await agent.asks(target, msgids=("q1", "q2"))

    assert agent.questions.take(answer) is is_one
    assert agent.answers() == [answer.text if is_one else ""]
    waiting.cancel()


async def test_only_one_answer_is_taken(agent):
    waiting = await agent.asks("#ops")
    assert agent.questions.take(said("spark-ori", CALL, "#ops"))
    assert not agent.questions.take(said("thor-bo", CALL, "#ops"))

    assert (await waiting).answered_by == "spark-ori"


async def test_who_asked_first_is_answered_first(agent):
    first, second = await agent.asks("#ops", "one?"), await agent.asks("#ops", "two?")
    agent.questions.take(said("spark-ori", f"{CALL} a", "#ops"))
    agent.questions.take(said("spark-ori", f"{CALL} b", "#ops"))

    assert (await first).answer.endswith(" a")
    assert (await second).answer.endswith(" b")


async def test_a_reply_finds_its_own_question(agent):
    first, second = await agent.asks("#ops", "one?"), await agent.asks("#ops", "two?", ("q2",))
    agent.questions.take(said("spark-ori", CALL, "#ops", reply="q2"))

    assert (await second).text == "two?"
    assert not first.done()
    first.cancel()


async def test_what_is_said_while_a_permission_is_pending_and_nobody_answers_aside_is_kept(agent, eventually):
    command = '{"command": "git push"}'
    options = ("yes", "no", "abort")
    waiting = asyncio.create_task(
        agent.questions.ask(QuestionKind.PERMISSION, "push?", "#ops", options=options, parameters=command)
    )
    await eventually(lambda: agent.file.questions.open() and agent.file.questions.open()[0].state == "posted")

    assert agent.questions.take(said("spark-ori", "@spark-claude build the docs", "#ops"))

    await eventually(lambda: [each.text for each in agent.unread] == ["@spark-claude build the docs"])
    assert not waiting.done()
    waiting.cancel()


async def test_what_comes_after_the_waiting_is_delivered_as_a_message(agent):
    waiting = await agent.asks("#ops")
    assert agent.questions.targets() == ["#ops"]
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert agent.questions.take(said("spark-ori", CALL, "#ops"))
    [entry] = agent.file.queue.next()
    assert entry.question.text.startswith(f"{CALL}\nYou asked in #ops: ")


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
async def test_whom_a_question_names_answers_it_alone(agent, text, answer, is_one):
    waiting = await agent.asks("#ops", text, ("q1",))
    assert agent.questions.take(answer) is is_one
    waiting.cancel()


async def test_who_is_asked_may_change_their_nick(agent):
    private, public = await agent.asks("spark-ori"), await agent.asks("#ops", "spark-ori: may I?")
    agent.questions.renamed("spark-ori", "spark-ori2")
    assert not agent.questions.take(said("spark-ori", "yes"))
    assert agent.questions.take(said("spark-ori2", "yes"))
    assert agent.questions.take(said("spark-ori2", CALL, "#ops"))
    assert (await private).answer == "yes"
    assert (await public).answer == CALL


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


async def test_a_question_in_return_is_no_answer(agent):
    waiting = await agent.asks("#ops")
    assert agent.questions.take(said("spark-ori", "@spark-claude which one?", "#ops"))
    assert agent.answers() == [""]
    assert agent.questions.take(said("spark-ori", CALL, "#ops"))
    assert (await waiting).answer == CALL


async def test_who_was_only_asked_back_is_told_so(tmp_path):
    with asking_in(tmp_path, "*", soon_s=0.01) as agent:
        waiting = await agent.asks("#ops")
        agent.questions.take(said("spark-ori", "@spark-claude which\none?", "#ops"))
        with pytest.raises(TemporaryError, match="counter-question: <spark-ori> @spark-claude which one"):
            await waiting
        assert agent.questions.targets() == ["#ops"]


async def test_what_was_asked_back_is_not_lost_when_nobody_waits_any_more(agent):
    back = said("spark-ori", "which one?")
    waiting = await agent.asks("spark-ori")
    agent.questions.take(back)
    # The model is asked first, and cannot answer.
    for _ in range(10):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert agent.unread == [back]
