"""Answer what people and agents ask a waiting agent, in a side session, while its question stays open."""

import asyncio
import logging
from typing import Final

from culture.agent.questions.actions import Actions
from culture.agent.questions.wording import told, without_address
from culture.client.events import Said
from culture.errors import CultureError, UnavailableError
from culture.protocol.plain_text import neutral
from culture.store.agent.questions import StoredQuestion

log = logging.getLogger(__name__)

# The longest answer that is posted.
_MOST_CHARS: Final = 1000
_PROMPT: Final = """\
You wait for the answer to a question that you asked on IRC in {place}:
    "{text}"
Before anybody decides, <{nick}> says to you:
    {said}
Answer that in one to three short sentences, from what you know already. You have no tools now. What you write
is posted there. Do not ask for the decision again."""


class CounterQuestions:
    """Answers counter-questions one after the other, each with one message that begins with `[ANSWER]`."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._lock = asyncio.Lock()
        # Whether the channel was told that this backend cannot answer beside its turn.
        self._is_told = False

    async def answer(self, question: StoredQuestion, said: Said) -> bool:
        """Answer a counter-question; return False if the backend cannot do so."""
        text = told(without_address(said.text, self._actions.own_nick()))
        prompt = _PROMPT.format(
            place=question.place, text=question.text, nick=neutral(said.sender), said=text
        )
        place = said.channel or said.sender
        async with self._lock:
            try:
                answer = await self._actions.ask_aside(prompt, question)
            except UnavailableError:
                self._tell_once(place)
                return False
            except CultureError as error:
                log.warning("a counter-question was not answered: %s", error)
                return False
            line = told(answer)[:_MOST_CHARS]
            if line:
                await self._actions.post(place, f"[ANSWER] {line}")
        return True

    def _tell_once(self, place: str) -> None:
        if not self._is_told:
            self._is_told = True
            self._actions.notify(place, "this agent cannot answer while it waits; its question stays open")
