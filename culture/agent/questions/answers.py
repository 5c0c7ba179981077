"""Take the messages that answer an open question, that ask back, or that come too late."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from culture.agent.questions.actions import Actions
from culture.agent.questions.matching import Matcher
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.standing import standing_of, voter_of
from culture.agent.questions.wording import answered_line, choice_of, is_question, without_address
from culture.client.events import Said
from culture.errors import CultureError
from culture.store.agent.questions import Standing, StoredQuestion, Vote

# How long after the answer a second one is taken for an answer that came too late.
SECOND_ANSWER_MS: Final = 10_000


# The server proves only while the agent is there who somebody is.
_UNPROVEN: Final = (
    "your answer does not count: nothing proves that you are a person; log in, or say it again if I was away"
)


class Answers:
    """Finds out what a message means for the open questions.

    `on_vote` is called with the id of a question that has a new vote, and where it was said. `on_asked_back`
    returns whether it takes a counter-question to an agent that waits.
    """

    def __init__(
        self,
        records: QuestionRecords,
        matcher: Matcher,
        actions: Actions,
        people: Sequence[str],
        on_vote: Callable[[str, str], None],
        on_asked_back: Callable[[StoredQuestion, Said], bool],
    ) -> None:
        self._records = records
        self._matcher = matcher
        self._actions = actions
        self._people = people
        self._on_vote = on_vote
        self._on_asked_back = on_asked_back
        # Senders who were told that their answer does not count.
        self._told: set[tuple[str, str]] = set()

    def take(self, said: Said) -> bool:
        """Return whether a message answers a question or asks back, so that it starts no turn."""
        if self._records.is_known_answer(said.msgid):
            return True
        if not self._matcher.may_answer(said):
            return False
        standing = standing_of(said, self._people)
        found = self._matcher.candidates(said, self._records.open(), standing)
        if not found:
            return self._is_too_late(said, standing)
        decided = [each for each in found if each.options and self._choice(said, each)]
        if len(decided) > 1:
            ids = ", ".join(each.id for each in decided)
            self._notify(said, f"several questions are open: {ids}; say which, such as: yes {decided[0].id}")
            return True
        free = [each for each in found if not each.options]
        if decided or (free and not is_question(said.text)):
            self._vote((decided or free)[0], said, standing)
            return True
        return any(self._on_asked_back(each, said) for each in found)

    def _vote(self, question: StoredQuestion, said: Said, standing: Standing) -> None:
        if standing is Standing.ANYONE and question.options:
            if (question.id, said.sender) not in self._told:
                self._told.add((question.id, said.sender))
                self._notify(said, _UNPROVEN)
            return
        choice, now_ms = self._choice(said, question), self._records.now_ms()
        vote = Vote(voter_of(said), said.sender, standing, choice, said.text, said.msgid, now_ms)
        self._records.vote(question, vote)
        self._on_vote(question.id, said.channel or said.sender)

    def _is_too_late(self, said: Said, standing: Standing) -> bool:
        """Tell somebody who answers a question that was answered just now, or that they name."""
        now_ms = self._records.now_ms()
        for question in self._matcher.candidates(said, self._records.answered(), standing):
            is_just_now = now_ms - (question.answered_ms or 0) < SECOND_ANSWER_MS
            if self._choice(said, question) and (is_just_now or self._matcher.is_named(said, question)):
                self._notify(said, answered_line(question))
                return True
        return False

    def _choice(self, said: Said, question: StoredQuestion) -> str:
        text = without_address(said.text, self._actions.own_nick())
        return choice_of(text, question.options, question.id)

    def _notify(self, said: Said, text: str) -> None:
        with suppress(CultureError):
            self._actions.notify(said.channel or said.sender, f"{said.sender}: {text}")
