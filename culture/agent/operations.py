"""The operations of a running agent that its toolset and culturectl use."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from culture.agent.backend.backend_runner import BackendRunner
from culture.agent.contract import ContextChanged
from culture.agent.inbox.control_words import ControlWord
from culture.agent.inbox.saved_location import SavedLocation
from culture.agent.ledger.cost_control import CostControl
from culture.agent.questions.questions import Questions
from culture.agent.reporting import status
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.reporting.notices import Notices
from culture.agent.reporting.presence import Presence
from culture.agent.reporting.receipts import Receipts
from culture.agent.reporting.state_reporter import StateReporter
from culture.agent.tools.sender import Sender
from culture.agent.turns.backend_reports import BackendReports
from culture.agent.turns.cancelling import ALWAYS_MS, Cancelling
from culture.agent.turns.gate import Gate
from culture.agent.turns.interruption import Fate, Interruption
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turn, Turns
from culture.client.client import Client, Sent
from culture.client.events import Said
from culture.config.agents import AgentConfig, TurnsConfig
from culture.store import disk
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueState

_FOR_PEOPLE: Final = frozenset({ControlWord.ABORT, ControlWord.RESUME})
# The beginning of the reason of a pause by the supervisor.
_ESCALATED: Final = "the supervisor calls for a person"
_NOTHING_TO_DO: Final = {
    ControlWord.STOP: "no turn is running",
    ControlWord.ABORT: "no turn is running",
    ControlWord.RESUME: "not paused",
}


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
        gate: Gate,
        config: AgentConfig,
        limits: TurnsConfig,
        *,
        on_change: Callable[[], None],
        on_shutdown: Callable[[], None],
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
        self._backend_name = config.agent
        self._gate = gate
        self._context_requests = reports.context_requests
        self._cancelling = Cancelling(config.nick, file, turns, turn_loop, notices.alert, time.time)
        receipts = Receipts(client, file.queue.find)
        self.state = StateReporter(
            turns,
            backend,
            gate,
            Presence(client),
            receipts if config.receipts == "react" else None,
            stall_timeout_s=limits.stall_timeout_s,
            held_back=lambda: turn_loop.held_back,
            asked=questions.targets,
            absence=lambda: self.absence,
            clock=time.monotonic,
            wall_clock=time.time,
        )
        self._on_change = on_change
        self._on_shutdown = on_shutdown
        # Why the agent is not on IRC; empty while it is.
        self.absence = f"connecting to {client.address}"

    async def say(self, target: str, text: str) -> Sent:
        """Send a message as the agent and return when the server has accepted it."""
        return await self._sender.say(target, text)

    def pause(self, why: str, *, interrupt: bool = False) -> None:
        """Begin no more turns until `resume`, and tell the agent's channels why.

        `interrupt` ends the running turn, too; it is repeated after `resume`.
        """
        is_new = why != self._backend.paused_because
        self._backend.pause(why)
        interruption = Interruption(f"paused: {why}", Fate.REPEATED)
        turn = self._turn_loop.interrupt(interruption) if interrupt else None
        if is_new or turn is not None:
            self.announce_pause(why, turn)

    def escalate(self, reason: str) -> bool:
        """Pause the agent and interrupt its turn; return whether a turn was running. The caller tells people.

        The messages of the turn wait, also those that the agent answered on the way, until a person resumes
        the agent or aborts them.
        """
        turn = self._turn_loop.interrupt(Interruption("paused by the supervisor", Fate.REPEATED))
        if turn is None:
            return False
        self._backend.pause(f"{_ESCALATED}: {reason}")
        with self._file.at_once():
            self._file.queue.reopen(turn.id)
        self._on_change()
        return True

    def announce_pause(self, why: str, interrupted: Turn | None = None) -> None:
        """Tell the agent's channels why it is paused, and which turn that interrupted."""
        hint = f"culturectl resume {self._client.nick}"
        turn = f"; turn {interrupted.id} is interrupted and repeated later" if interrupted else ""
        places = tuple(self._client.channels())
        self._notices.alert(Alert(AlertKind.PAUSED, f"paused: {why}{turn}; hint: {hint}", places))
        self._on_change()

    def resume(self) -> bool:
        """Begin turns again and return whether the agent was paused."""
        was_paused = self._backend.resume()
        if was_paused:
            self._notices.alert(Alert(AlertKind.RESUMED, "resumed", tuple(self._client.channels())))
            self._turn_loop.wake()
            self._on_change()
        return was_paused

    def stop_task(self, by: str, place: str = "", said_until_ms: int = ALWAYS_MS) -> bool:
        """Stop what the agent works on for good, and return whether it works on something.

        That is the running turn or, without one, the messages whose last turn broke off.
        """
        is_running = self._cancelling.stop_turn(by, place, said_until_ms)
        return is_running or self._cancelling.stop_broken_off(by, said_until_ms)

    def abort(self, by: str, place: str = "", said_until_ms: int = ALWAYS_MS) -> bool:
        """Stop what the agent works on, and resume an agent that was paused over it."""
        if self._cancelling.stop_turn(by, place, said_until_ms):
            if self._backend.paused_because.startswith(_ESCALATED):
                self.resume()
            return True
        if not self._cancelling.stop_broken_off(by, said_until_ms):
            return False
        self.resume()
        return True

    def control(self, word: ControlWord, said: Said, said_ms: int, is_person: bool) -> None:
        """Carry out a word that somebody said to the agent, and answer where they said it.

        Everybody may stop and pause an agent. What lets it go on needs somebody who is proved to be a person.
        """
        by, place = said.sender, said.channel or said.sender
        if word in _FOR_PEOPLE and not is_person:
            self._notices.say(place, f"{by}: only people may {word} an agent; log in to your account first")
            return
        match word:
            case ControlWord.STOP:
                is_done = self.stop_task(by, place, said_ms)
            case ControlWord.ABORT:
                is_done = self.abort(by, place, said_ms)
            case ControlWord.PAUSE:
                self.pause(f"by {by}")
                return
            case ControlWord.RESUME:
                is_done = self.resume()
        if not is_done:
            self._notices.say(place, f"{by}: {_NOTHING_TO_DO[word]}")

    def drop(self, number: int, by: str) -> None:
        """Drop one queued message and tell its sender. Raise UsageError if it does not wait for a turn."""
        self._cancelling.drop(number, by)
        self._on_change()

    async def restart(self, by: str, *, fresh: bool) -> None:
        """Start the backend again, with a new session if `fresh`. The running turn is repeated."""
        why = f"restarted by {by}"
        self._turn_loop.interrupt(Interruption(why, Fate.REPEATED))
        await self._backend.restart(fresh=fresh)
        self._turn_loop.requeue_unanswered(why)
        self._turn_loop.wake()
        session = " with a new session" if fresh else ""
        self._notices.alert(Alert(AlertKind.RESTARTED, why + session, tuple(self._client.channels())))
        self._on_change()

    def shutdown(self) -> None:
        """End the agent in good order. A service manager starts it again."""
        self._on_shutdown()

    async def compact(self, *, is_for_agent: bool) -> ContextChanged | None:
        """Ask the backend to compact its context; return the outcome if a person asks."""
        return await self._change_context(self._backend.compact, is_for_agent=is_for_agent)

    async def clear(self, *, is_for_agent: bool) -> ContextChanged | None:
        """Ask the backend to clear its context; return the outcome if a person asks."""
        return await self._change_context(self._backend.clear, is_for_agent=is_for_agent)

    async def _change_context(
        self, send: Callable[[], Awaitable[None]], *, is_for_agent: bool
    ) -> ContextChanged | None:
        if is_for_agent:
            await self._context_requests.ask_for_agent(send)
            return None
        return await self._context_requests.ask_for_person(send)

    def status(self) -> str:
        """Return one line that says what the agent is doing."""
        held_back = self._gate.closed() or self._turn_loop.held_back
        return status.describe(
            self._turns,
            self._client.channels(),
            str(self._client.address),
            self._file.queue.count(QueueState.QUEUED),
            absence=self.absence,
            paused=self._backend.paused_because,
            held_back=held_back.why if held_back else "",
            backend_down=self._backend.down_because,
            disk=disk.describe(self._file.directory) if disk.is_full(self._file.directory) else "",
        )

    def queue_rows(self) -> list[dict[str, Any]]:
        """Return the open and the most recent finished messages of the queue."""
        return status.queue_rows(self._file.queue)

    def question_rows(self) -> list[dict[str, Any]]:
        """Return the open questions of the agent."""
        return self._questions.rows()

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
            "state": self.state.situation().as_json(),
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
