"""Write questions to the agent's file: each change in one transaction, with its row in the audit log."""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from culture.agent.questions.decision import Answered, Decision
from culture.agent.questions.wording import choice_of
from culture.errors import UsageError
from culture.names import fold
from culture.protocol.render import format_time
from culture.store.agent.file import AgentFile
from culture.store.agent.questions import (
    Answer,
    NewQuestion,
    QuestionStore,
    Standing,
    StoredQuestion,
    Vote,
)
from culture.store.agent.queue import QueuedMessage
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# How many questions are looked at to tell somebody that they answer too late.
_RECENT: Final = 20


class QuestionRecords:
    """The questions in the agent's file, the audit log about them, and the journal."""

    def __init__(self, file: AgentFile, nick: str, now_ms: Callable[[], int]) -> None:
        self._file = file
        self._nick = nick
        self.now_ms = now_ms

    def add(self, new: NewQuestion, make_id: Callable[[], str], *, is_waiting: bool) -> StoredQuestion:
        """Store a new question under an id that no other question has."""
        store = self._file.questions
        with self._file.at_once():
            while not store.add(id := make_id(), new, self.now_ms(), is_waiting=is_waiting):
                continue
            question = _found(store.get(id))
            self._audit("asked", question, _facts(question))
        told = fields(
            "question-asked", nick=self._nick, question=id, channel=new.place, turn=new.turn or None
        )
        log.info("question %s (%s) in %s", id, new.kind, new.place, extra=told)
        return question

    def posted(self, question: StoredQuestion, msgids: Sequence[str]) -> None:
        """Record that a question is on IRC."""
        with self._file.at_once():
            self._file.questions.posted(question.id, msgids)

    def withdraw(self, question: StoredQuestion) -> None:
        """Withdraw a question that could not be asked."""
        with self._file.at_once():
            if self._file.questions.withdraw(question.id):
                self._audit("withdrawn", question, {})

    def wait(self, question: StoredQuestion, turn: str, call: str = "") -> None:
        """Record that a call of a turn waits for the answer."""
        with self._file.at_once():
            self._file.questions.wait(question.id, turn, call)

    def wait_no_longer(self, question: StoredQuestion) -> None:
        """Record that no call waits for the answer any more."""
        with self._file.at_once():
            self._file.questions.wait_no_longer(question.id)

    def vote(self, question: StoredQuestion, vote: Vote) -> None:
        """Store a vote."""
        with self._file.at_once():
            self._file.questions.vote(question.id, vote)
            self._audit("vote", question, vote._asdict())

    def decide(
        self, id: str, decide: Callable[[StoredQuestion, Sequence[Vote], int], Decision]
    ) -> tuple[StoredQuestion, Decision, bool] | None:
        """Store the decision about an open question.

        Return the question, the decision, and whether it is new that the question timed out. Return None if
        the question is not open.
        """
        store, now_ms = self._file.questions, self.now_ms()
        with self._file.at_once():
            question = store.get(id)
            if question is None or not question.is_open:
                return None
            decision = decide(question, votes := store.votes(id), now_ms)
            is_news = False
            if isinstance(decision, Answered):
                vote, by = decision.vote, ", ".join(decision.by)
                answer = Answer(vote.choice, vote.text, by, decision.authority, vote.msgid)
                question = self._answer(question, answer, votes)
            elif decision.is_timed_out and store.timed_out(id, now_ms):
                is_news = True
                self._audit("timed-out", question, {})
        return question, decision, is_news

    def answer_by_person(self, id: str, text: str, by: str) -> StoredQuestion:
        """Store the answer of a person at this machine. Raise UsageError if that is not possible."""
        with self._file.at_once():
            question = self._file.questions.get(id)
            check_answer(question, id, text)
            assert question is not None
            choice = choice_of(text, question.options)
            answer = Answer(choice, text, by, Standing.PERSON)
            return self._answer(question, answer, self._file.questions.votes(id))

    def _answer(self, question: StoredQuestion, answer: Answer, votes: Sequence[Vote]) -> StoredQuestion:
        """Store an answer within the transaction of the caller, who knows that the question is open."""
        self._file.questions.answer(question.id, answer, self.now_ms())
        facts = _facts(question) | {"votes": [vote._asdict() for vote in votes], "decision": answer._asdict()}
        hash = self._audit("answered", question, facts)
        told = fields(
            "question-answered", nick=self._nick, question=question.id, authority=answer.authority, audit=hash
        )
        log.info("question %s was answered by %s (%s)", question.id, answer.by, answer.authority, extra=told)
        return _found(self._file.questions.get(question.id))

    def delivered(self, question: StoredQuestion, *, is_used: bool) -> None:
        """Record that the agent has the answer."""
        with self._file.at_once():
            self._delivered(question, is_used=is_used)

    def deliver_by_queue(self, question: StoredQuestion, message: QueuedMessage) -> None:
        """Queue the answer as a message, and record that the agent has it."""
        with self._file.at_once():
            if self._delivered(question, is_used=False):
                self._file.queue.add(message, self.now_ms())

    def _delivered(self, question: StoredQuestion, *, is_used: bool) -> bool:
        is_new = self._file.questions.delivered(question.id, self.now_ms(), is_used=is_used)
        if is_new:
            self._audit("delivered", question, {"as": "result of the call" if is_used else "message"})
        return is_new

    def undelivered(self, id: str) -> StoredQuestion | None:
        """Take back that the agent has an answer, and return the question."""
        with self._file.at_once():
            is_changed = self._file.questions.undelivered(id)
        return self._file.questions.get(id) if is_changed else None

    def use(self, parameters: str) -> bool:
        """Use up a permission that the agent got as a message."""
        with self._file.at_once():
            used = self._file.questions.use(parameters, self.now_ms())
            if used is not None:
                self._audit("used", used, {})
        return used is not None

    def enqueue(self, message: QueuedMessage) -> None:
        """Queue a message to the agent."""
        with self._file.at_once():
            self._file.queue.add(message, self.now_ms())

    def stop_messages(self, why: str) -> None:
        """Finish the messages of the running turn, which is being stopped, so that a crash repeats none."""
        with self._file.at_once():
            self._file.queue.stop(self._file.queue.injected(), why, self.now_ms())

    def settle_waiting(self) -> None:
        """Finish the messages of turns that broke off while they waited: the answer brings them back."""
        for question in self._file.questions.waiting():
            with self._file.at_once():
                note = f"it waits for the answer to question {question.id}"
                self._file.queue.end_turn(question.turn, note, self.now_ms())
                self._file.questions.wait_no_longer(question.id)

    def renamed(self, old: str, new: str) -> None:
        """Follow a nick change of somebody who was asked."""
        for question in self.open():
            place = new if fold(question.place) == fold(old) else question.place
            named = [new if fold(nick) == fold(old) else nick for nick in question.named]
            if (place, tuple(named)) != (question.place, question.named):
                with self._file.at_once():
                    self._file.questions.readdress(question.id, place, named)

    def with_calls(self) -> list[StoredQuestion]:
        """Return the questions whose tool calls the backend keeps, the oldest first."""
        return self._file.questions.with_calls()

    def end_call(self, question: StoredQuestion, *, is_used: bool) -> None:
        """Record that the backend keeps the call no longer, and whether the permission is used up by it."""
        with self._file.at_once():
            self._file.questions.end_call(question.id, self.now_ms() if is_used else None)
            if is_used:
                self._audit("used", question, {})

    def unuse(self, question: StoredQuestion) -> None:
        """Take back that a permission was used: the backend did not have the call any more."""
        with self._file.at_once():
            self._file.questions.end_call(question.id, None)
            self._audit("not-used", question, {})

    def get(self, id: str) -> StoredQuestion | None:
        """Return the question with this id."""
        return self._file.questions.get(id)

    def same(self, new: NewQuestion) -> StoredQuestion | None:
        """Return the last question that is the same, asked for the same message."""
        return self._file.questions.same(new)

    def open(self) -> list[StoredQuestion]:
        """Return the questions that wait for an answer, the oldest first."""
        return self._file.questions.open()

    def undelivered_answers(self) -> list[StoredQuestion]:
        """Return the answered questions whose answer the agent does not have."""
        return self._file.questions.undelivered_answers()

    def answered(self) -> list[StoredQuestion]:
        """Return the last questions that were answered, the newest first."""
        last = self._file.questions.last(_RECENT)
        return [question for question in reversed(last) if question.answered_ms is not None]

    def is_known_answer(self, msgid: str) -> bool:
        """Return whether a message was taken as an answer before."""
        return self._file.questions.answered_by_message(msgid)

    def rows(self) -> list[dict[str, Any]]:
        """Return the open questions with their votes, as JSON objects."""
        return question_rows(self._file.questions)

    def _audit(self, event: str, question: StoredQuestion, details: dict[str, Any]) -> str:
        return self._file.audit.append(self.now_ms(), event, question.id, details)


def check_answer(question: StoredQuestion | None, id: str, text: str) -> None:
    """Raise UsageError if a question cannot be answered by a text."""
    if question is None:
        raise UsageError(f"no question '{id}'", hint="culturectl questions")
    if not question.is_open:
        how = f"{question.choice or question.answer}, by {question.answered_by} ({question.authority})"
        what = "was withdrawn" if not question.answered_ms else f"was answered already: {how}"
        raise UsageError(f"question '{id}' {what}")
    if question.options and not choice_of(text, question.options):
        choices = ", ".join(question.options)
        raise UsageError(
            f"'{text}' is none of {choices}", hint=f"culturectl answer {id} {question.options[0]}"
        )


def question_rows(store: QuestionStore) -> list[dict[str, Any]]:
    """Return the open questions of an agent with their votes, as JSON objects."""
    return [
        {
            "id": question.id,
            "kind": question.kind.value,
            "state": question.state.value,
            "asked": format_time(question.asked_ms / 1000),
            "place": question.place,
            "task": question.task,
            "text": question.text,
            "options": list(question.options),
            "parameters": json.loads(question.parameters),
            "waiting": question.is_waiting,
            "timed_out": question.timed_out_ms is not None,
            "votes": [
                {"nick": vote.nick, "standing": vote.standing.value, "choice": vote.choice, "text": vote.text}
                for vote in store.votes(question.id)
            ],
        }
        for question in store.open()
    ]


def _facts(question: StoredQuestion) -> dict[str, Any]:
    return {
        "kind": question.kind.value,
        "text": question.text,
        "parameters": question.parameters,
        "options": list(question.options),
        "task": question.task,
        "place": question.place,
        "turn": question.turn,
    }


def _found(question: StoredQuestion | None) -> StoredQuestion:
    assert question is not None
    return question
