"""Continue the tool calls that the backend keeps on disk until a person has answered."""

from collections.abc import Awaitable, Callable, Sequence

from culture.agent.questions.delivery import is_timeout
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.wording import told
from culture.agent.turns.gate import HeldBack, HoldKind
from culture.agent.turns.prompt import ANSWER_CONCERN, question_id
from culture.errors import CultureError
from culture.store.agent.questions import StoredQuestion
from culture.store.agent.queue import QueueEntry

# Continues a call: its id, whether it is allowed, and a reason for the model.
AnswerDeferred = Callable[[str, bool, str], Awaitable[None]]


class DeferredCalls:
    """A gate that lets only the answer begin a turn while a call waits: another prompt drops the call."""

    def __init__(self, records: QuestionRecords, answer_deferred: AnswerDeferred) -> None:
        self._records = records
        self._answer_deferred = answer_deferred

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Return that these messages wait for an answer, unless they contain it."""
        return None if self._answers(entries) else self.closed()

    def closed(self) -> HeldBack | None:
        """Return that the agent waits for an answer, if it does."""
        waiting = self._records.with_calls()
        if not waiting:
            return None
        first = waiting[0]
        return HeldBack(HoldKind.ANSWER, f"it waits for the answer to question {first.id} in {first.place}")

    def first(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the answer alone if it continues a call, otherwise all entries."""
        return self._answers(entries)[:1] or list(entries)

    async def resume(self, entries: Sequence[QueueEntry]) -> bool:
        """Continue the turn whose call the first entry answers; return False if that needs a prompt."""
        found = self._answers(entries)
        if not found:
            return False
        entry = found[0]
        question = self._question(entry)
        is_allowed = question.choice == "yes" and not is_timeout(entry.question)
        reason = told(entry.question.text.partition("\n")[0])
        # The permission is used up before the call runs, so that it never runs twice.
        self._records.end_call(question, is_used=is_allowed)
        try:
            await self._answer_deferred(question.call, is_allowed, reason)
        except CultureError:
            if is_allowed and not entry.is_repeat:
                self._records.unuse(question)
            return False
        return True

    def _answers(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        answers = [entry for entry in entries if entry.question.concern == ANSWER_CONCERN]
        return [entry for entry in answers if self._question(entry).call]

    def _question(self, entry: QueueEntry) -> StoredQuestion:
        question = self._records.get(question_id(entry.question))
        assert question is not None
        return question
