"""Questions that an agent waits with: which of the things said to it is the answer to which."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from culture.agent.answers import asks_for_status
from culture.agent.attention import is_allowed, is_speech, replied_to
from culture.client.events import Said
from culture.names import fold, is_channel


class Question:
    """Open until somebody answers it, or whoever asked it stops waiting."""

    def __init__(self, target: str) -> None:
        # A channel, or the one nick that is asked.
        self.target = target
        # Of the question itself, as far as the server told; a reply names one of them.
        self.msgids: tuple[str, ...] = ()
        self.answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()


class Questions:
    """Those that are open, the oldest first. `members` tells who is in a channel."""

    def __init__(
        self,
        own_nick: Callable[[], str],
        members: Callable[[str], Iterable[str]],
        allow_from: Sequence[str],
    ) -> None:
        self._own_nick = own_nick
        self._members = members
        self._allow_from = allow_from
        self._open: list[Question] = []

    def targets(self) -> list[str]:
        """Where an answer is waited for."""
        return [question.target for question in self._open]

    @contextmanager
    def asked(self, target: str) -> Iterator[Question]:
        question = Question(target)
        self._open.append(question)
        try:
            yield question
        finally:
            self._open.remove(question)

    def take(self, said: Said) -> bool:
        """Whether it answers one of them. Then it is for who asked, and starts no turn."""
        if not self._open or not is_speech(said, self._own_nick()):
            return False
        # Whoever may not start a turn is not to steer one either.
        if not is_allowed(said, self._allow_from):
            return False
        question = self._replied_to(said) or self._directed_at(said)
        if question is None:
            return False
        question.answer.set_result(said)
        return True

    def _waiting(self) -> Iterator[Question]:
        return (question for question in self._open if not question.answer.done())

    def _replied_to(self, said: Said) -> Question | None:
        replied = replied_to(said)
        return next((each for each in self._waiting() if replied.intersection(each.msgids)), None)

    def _directed_at(self, said: Said) -> Question | None:
        # It says itself that it is about something else.
        if replied_to(said) or asks_for_status(said, self._own_nick()):
            return None
        if said.channel is not None and not said.calls(self._own_nick()):
            return None
        return next((each for each in self._waiting() if self._may_answer(each, said)), None)

    def _may_answer(self, question: Question, said: Said) -> bool:
        """Who was asked: by mention or in private. In a channel: there, or in private by who is there."""
        if not is_channel(question.target):
            return fold(said.sender) == fold(question.target)
        if said.channel is not None:
            return fold(said.channel) == fold(question.target)
        return fold(said.sender) in map(fold, self._members(question.target))
