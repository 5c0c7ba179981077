"""Open questions of an agent (`irc ask`), matched with the messages that answer them.

Only those who were asked can answer, and only in the conversation in which they were asked: the nick of a
direct message, or the channel members whom the question mentions, or any member if it mentions nobody. A
message that replies to the question by its msgid must obey the same rule. A counter-question is no answer.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from culture.agent.inbox.attention import is_allowed, is_answerable, replied_msgids
from culture.agent.reporting.status_query import asks_for_status
from culture.agent.turns.prompt import readable_lines
from culture.client.events import Said
from culture.errors import TemporaryError
from culture.names import Folded, fold, is_channel
from culture.protocol.mentions import find_mentions
from culture.protocol.plain_text import neutral

# How long to wait for an answer after a counter-question, before the agent is told of it and must explain.
AFTER_COUNTER_QUESTION_S: Final = 10.0
# A question mark of any script with no word behind it, such as `which one? :)`.
_ENDS_AS_QUESTION: Final = re.compile(r"[?\uff1f\u061f\u2047-\u2049\u203d][\W_]*\Z")


class PendingQuestion:
    """A question that is open until somebody answers it or the agent stops waiting."""

    def __init__(self, target: str, named: Iterable[str], counter_question_s: float) -> None:
        # The channel or the nick to which the question was sent.
        self.target = target
        # The channel members whom the question mentions; any member may answer if it is empty.
        self.named: Collection[Folded] = frozenset(map(fold, named))
        # The msgids of the question, if the server sent them; a reply refers to one of them.
        self.msgids: tuple[str, ...] = ()
        self.answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        # Counter-questions of which the agent has not been told yet.
        self.counter_questions: list[Said] = []
        self._counter_question_s = counter_question_s
        self._deadline: asyncio.Timeout | None = None

    async def wait(self, timeout_s: float) -> Said:
        """Return the answer; raise TemporaryError if none came in time or there is a counter-question."""
        within_s = min(timeout_s, self._counter_question_s) if self.counter_questions else timeout_s
        try:
            async with asyncio.timeout(within_s) as self._deadline:
                said = await self.answer
        except TimeoutError:
            raise self._no_answer(timeout_s) from None
        self.counter_questions.clear()
        return said

    def take(self, said: Said) -> None:
        """Accept an answer, or note a counter-question and shorten the wait."""
        if not is_question(said.text):
            self.answer.set_result(said)
            return
        self.counter_questions.append(said)
        if self._deadline is not None and (ends_at := self._deadline.when()) is not None:
            soon = asyncio.get_running_loop().time() + self._counter_question_s
            self._deadline.reschedule(min(ends_at, soon))

    def _no_answer(self, timeout_s: float) -> TemporaryError:
        if not self.counter_questions:
            hint = "no answer is no consent: ask somebody else, or do not do what depends on it"
            return TemporaryError(f"nobody answered within {timeout_s:.0f} s", hint=hint)
        quoted = "; ".join(map(_shown, self.counter_questions))
        self.counter_questions.clear()
        hint = "a counter-question is no answer and no consent: explain what you want, then ask again"
        return TemporaryError(f"you got a counter-question: {quoted}", hint=hint)


class PendingQuestions:
    """The open questions of an agent, the oldest first.

    `members` returns the nicks in a channel. `on_unread` receives the counter-questions of which the agent
    was not told because it stopped waiting.
    """

    def __init__(
        self,
        own_nick: Callable[[], str],
        members: Callable[[str], Iterable[str]],
        allow_from: Sequence[str],
        on_unread: Callable[[Said], None] = lambda said: None,
        counter_question_s: float = AFTER_COUNTER_QUESTION_S,
    ) -> None:
        self._own_nick = own_nick
        self._members = members
        self._allow_from = allow_from
        self._on_unread = on_unread
        self._counter_question_s = counter_question_s
        self._open: list[PendingQuestion] = []

    def targets(self) -> list[str]:
        """Return the channels and nicks from which the agent waits for an answer."""
        return [question.target for question in self._open]

    @contextmanager
    def asked(self, target: str, text: str = "") -> Iterator[PendingQuestion]:
        """Open a question for the duration of the context. Only those whom `text` mentions may answer it."""
        question = PendingQuestion(target, self._named(target, text), self._counter_question_s)
        self._open.append(question)
        try:
            yield question
        finally:
            self._open.remove(question)
            for said in question.counter_questions:
                self._on_unread(said)

    def take(self, said: Said) -> bool:
        """Return whether a message answers an open question or asks back, so that it starts no turn."""
        if not self._open or not is_answerable(said, self._own_nick()):
            return False
        # Senders who may not start a turn may not influence one either.
        if not is_allowed(said, self._allow_from) or asks_for_status(said, self._own_nick()):
            return False
        question = self._question_answered_by(said)
        if question is None:
            return False
        question.take(said)
        return True

    def renamed(self, old: str, new: str) -> None:
        """Follow a nick change of somebody who was asked."""
        for question in self._open:
            if fold(question.target) == fold(old):
                question.target = new
            if fold(old) in question.named:
                question.named = frozenset({*question.named, fold(new)} - {fold(old)})

    def _named(self, target: str, text: str) -> list[str]:
        if not is_channel(target):
            return []
        members = {fold(nick): nick for nick in self._members(target) if fold(nick) != fold(self._own_nick())}
        return find_mentions(text, members.get)

    def _question_answered_by(self, said: Said) -> PendingQuestion | None:
        replied = replied_msgids(said)
        asked = [each for each in self._open if not each.answer.done() and self._was_asked(each, said)]
        if replied:
            # A reply answers only the question to which it refers.
            return next((each for each in asked if replied.intersection(each.msgids)), None)
        is_directed = said.channel is None or said.calls(self._own_nick())
        return asked[0] if asked and is_directed else None

    def _was_asked(self, question: PendingQuestion, said: Said) -> bool:
        """Return whether the question was put to the sender, in this conversation."""
        sender = fold(said.sender)
        if said.channel is None:
            return sender == fold(question.target)
        if fold(said.channel) != fold(question.target):
            return False
        if question.named:
            return sender in question.named
        return sender in map(fold, self._members(question.target))


def _shown(said: Said) -> str:
    return f"<{neutral(said.sender)}> {' '.join(readable_lines(said.text))}"


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return _ENDS_AS_QUESTION.search(text) is not None
