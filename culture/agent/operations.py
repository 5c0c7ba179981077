"""The operations of a running agent that its toolset and culturectl use."""

import time
from collections.abc import Callable
from typing import Any

from culture.agent.backend.backend_runner import BackendRunner
from culture.agent.inbox.saved_location import SavedLocation
from culture.agent.ledger.cost_control import CostControl
from culture.agent.questions.questions import Questions
from culture.agent.reporting import status
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.reporting.notices import Notices
from culture.agent.tools.sender import Sender
from culture.agent.turns.backend_reports import BackendReports
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.client.client import Client, Sent
from culture.config.address import Address
from culture.store import disk
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueState


class AgentOperations:
    """Sends, pauses, resumes and describes one agent."""

    def __init__(
        self,
        client: Client,
        file: AgentFile,
        location: SavedLocation,
        backend: BackendRunner,
        turns: Turns,
        turn_loop: TurnLoop,
        reports: BackendReports,
        sender: Sender,
        notices: Notices,
        costs: CostControl,
        questions: Questions,
        *,
        backend_name: str,
        address: Address,
        on_change: Callable[[], None],
    ) -> None:
        self._client = client
        self._file = file
        self._location = location
        self._backend = backend
        self._turns = turns
        self._turn_loop = turn_loop
        self._reports = reports
        self._sender = sender
        self._notices = notices
        self._costs = costs
        self._questions = questions
        self._backend_name = backend_name
        self._on_change = on_change
        # Why the agent is not on IRC; empty while it is.
        self.absence = f"connecting to {address}"

    async def say(self, target: str, text: str) -> Sent:
        """Send a message as the agent and return when the server has accepted it."""
        return await self._sender.say(target, text)

    def pause(self, why: str) -> None:
        """Begin no more turns until `resume`, and tell the agent's channels why."""
        is_new = why != self._backend.paused_because
        self._backend.pause(why)
        if is_new:
            self.announce_pause(why)

    def announce_pause(self, why: str) -> None:
        """Tell the agent's channels why it is paused."""
        hint = f"culturectl resume {self._client.nick}"
        places = tuple(self._client.channels())
        self._notices.alert(Alert(AlertKind.PAUSED, f"paused: {why}; hint: {hint}", places))
        self._on_change()

    def resume(self) -> bool:
        """Begin turns again and return whether the agent was paused."""
        was_paused = self._backend.resume()
        if was_paused:
            self._notices.alert(Alert(AlertKind.RESUMED, "resumed", tuple(self._client.channels())))
            self._turn_loop.wake()
            self._on_change()
        return was_paused

    async def compact(self) -> None:
        """Ask the backend to compact its context."""
        await self._backend.compact()

    async def clear(self) -> None:
        """Ask the backend to clear its context."""
        await self._backend.clear()

    def status(self) -> str:
        """Return one line that says what the agent is doing."""
        return status.describe(
            self._turns,
            self._client.channels(),
            str(self._client.address),
            self._file.queue.count(QueueState.QUEUED),
            absence=self.absence,
            paused=self._backend.paused_because,
            held_back=self._turn_loop.held_back.why if self._turn_loop.held_back else "",
            backend_down=self._backend.down_because,
            disk=disk.describe(self._file.directory) if disk.is_full(self._file.directory) else "",
        )

    def queue_rows(self) -> list[dict[str, Any]]:
        """Return the open and the most recent finished messages of the queue."""
        return status.queue_rows(self._file.queue)

    def whoami(self) -> dict[str, Any]:
        """Return the agent's nick, server, channels and directory."""
        return {
            "nick": self._client.nick,
            "server": str(self._client.address),
            "channels": self._client.channels(),
            "connected": self._client.is_registered,
            "directory": str(self._location.directory),
        }

    def status_screen(self) -> dict[str, Any]:
        """Return everything that `culturectl status` shows about the agent."""
        return {
            **self.whoami(),
            "asks": self._questions.targets(),
            "status": self.status(),
            "backend": self._backend_name,
            "running": self._backend.is_running,
            "paused": self._backend.paused_because,
            "turn": status.turn_row(self._turns.current, time.monotonic()),
            "session": self._backend.session_id,
            "context": self._reports.context,
            "queue": status.queue_figures(self._file.queue),
            **self._costs.figures(),
            "last_error": self._reports.last_error,
        }
