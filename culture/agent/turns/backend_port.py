"""What the turn loop needs of the backend."""

from typing import Protocol

from culture.agent.contract import Effort


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
