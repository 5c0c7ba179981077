"""What the turn loop needs of the backend."""

from collections.abc import Sequence
from typing import Protocol

from culture.agent.contract import Effort
from culture.store.agent.queue import QueueEntry


class Continuation(Protocol):
    """Continues turns whose tool calls the backend keeps until somebody has answered."""

    def first(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the messages that the next turn gets, of those that may begin one."""

    async def resume(self, entries: Sequence[QueueEntry]) -> bool:
        """Continue a turn that waited for the answer in these messages; return False if there is none."""


class Backend(Protocol):
    """The operations of BackendRunner that the turn loop uses."""

    @property
    def is_running(self) -> bool:
        """Return whether the backend accepts prompts."""

    @property
    def is_paused(self) -> bool:
        """Return whether an operator or the circuit breaker paused the agent."""

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        """Send a prompt, which begins a turn."""

    async def interrupt(self) -> None:
        """Ask the backend to end the running turn."""

    async def give_up(self, why: str) -> None:
        """Kill a backend that no longer responds."""
