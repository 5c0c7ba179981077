"""Reserve and book every call of a judge in the ledger."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from culture.agent.contract import SideAnswer, ToollessModel, Usage


class SideSession(Protocol):
    """A model session besides the turns, while it runs."""

    def used(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Say what the session used."""


# Reserves money for one session and settles it at the end. Raises TemporaryError if the budget is spent.
OpenSession = Callable[[], AbstractContextManager[SideSession]]


class BookedModel(ToollessModel):
    """A model whose calls are reserved before and booked after."""

    def __init__(self, make_model: Callable[[], ToollessModel], open_session: OpenSession) -> None:
        """`make_model` is called at the first use: an agent that is never judged does not load a backend."""
        self._make_model = make_model
        self._open_session = open_session
        self._model: ToollessModel | None = None

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        """Answer one prompt. Raise TemporaryError without a call if the budget does not cover it."""
        if self._model is None:
            self._model = self._make_model()
        with self._open_session() as session:
            answer = await self._model.complete(system, prompt)
            session.used(answer.usage, answer.cost_usd)
            return answer
