"""Reserve and book every call of a judge in the ledger."""

from contextlib import AbstractContextManager
from typing import Literal, Protocol

from culture.agent.contract import SideAnswer, ToollessModel, Usage


class Session(Protocol):
    """A model session besides the turns, while it runs."""

    def used(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Say what the session used."""


class Purse(Protocol):
    """The part of the ledger that a judge needs."""

    def side_session(
        self, kind: Literal["supervisor", "aside"], task: str = ""
    ) -> AbstractContextManager[Session]:
        """Reserve money for one model session and settle it at the end. Raise TemporaryError without it."""


class BookedModel(ToollessModel):
    """A model whose calls are reserved before and booked after, as those of a supervisor."""

    def __init__(self, model: ToollessModel, purse: Purse) -> None:
        self._model = model
        self._purse = purse

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        """Answer one prompt. Raise TemporaryError without a call if the budget does not cover it."""
        with self._purse.side_session("supervisor") as session:
            answer = await self._model.complete(system, prompt)
            session.used(answer.usage, answer.cost_usd)
            return answer
