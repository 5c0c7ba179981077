"""Calls of a turn that wait for the answer to a question."""

import asyncio
from typing import Final

from culture.agent.questions.wording import told
from culture.client.events import Said
from culture.errors import TemporaryError
from culture.protocol.plain_text import neutral
from culture.store.agent.questions import StoredQuestion

# How long to wait for an answer after a counter-question that nobody could answer beside the turn.
AFTER_COUNTER_QUESTION_S: Final = 10.0
LATER: Final = "the answer will come as a message; no answer is no consent: do not do what depends on it"


class NotAnsweredError(TemporaryError):
    """Nobody answered a question in time. The question stays open."""

    def __init__(self, message: str, *, hint: str = LATER) -> None:
        super().__init__(message, hint=hint)


class Waiter:
    """One call that waits for the answer to a question."""

    def __init__(self, counter_question_s: float) -> None:
        self.answer: asyncio.Future[StoredQuestion] = asyncio.get_running_loop().create_future()
        self._counter_question_s = counter_question_s
        # Counter-questions that nobody answered and of which the agent has not been told yet.
        self._unanswered: list[Said] = []
        self._deadline: asyncio.Timeout | None = None

    async def wait(self, timeout_s: float | None) -> StoredQuestion:
        """Return the answered question; raise NotAnsweredError if there is no answer in time."""
        try:
            async with asyncio.timeout(timeout_s) as self._deadline:
                return await asyncio.shield(self.answer)
        except TimeoutError:
            raise self._no_answer(timeout_s or 0) from None

    def give_up(self, error: NotAnsweredError) -> None:
        """End the wait without an answer."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def asked_back(self, said: Said) -> None:
        """Shorten the wait, so that the agent can answer a counter-question itself."""
        self._unanswered.append(said)
        soon = asyncio.get_running_loop().time() + self._counter_question_s
        if self._deadline is not None:
            ends_at = self._deadline.when()
            self._deadline.reschedule(soon if ends_at is None else min(ends_at, soon))

    def take_unanswered(self) -> list[Said]:
        """Return the counter-questions of which the agent was not told."""
        unanswered, self._unanswered = self._unanswered, []
        return unanswered

    def _no_answer(self, timeout_s: float) -> NotAnsweredError:
        if not self._unanswered:
            return NotAnsweredError(f"nobody answered within {timeout_s:.0f} s")
        quoted = "; ".join(f"<{neutral(said.sender)}> {told(said.text)}" for said in self.take_unanswered())
        hint = "a counter-question is no answer and no consent: explain what you want with irc send; " + LATER
        return NotAnsweredError(f"you got a counter-question: {quoted}", hint=hint)
