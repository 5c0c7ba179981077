"""What keeps an agent from running on: a halt, and the loop guard, wired to its client and its turns."""

import time
from collections.abc import Callable, Iterable

from culture.agent.authority.halt_gate import HaltGate
from culture.agent.authority.loop_guard import LoopGuard
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.reporting.notices import Notices
from culture.agent.turns.gate import Gates
from culture.agent.turns.interruption import Fate, Interruption
from culture.agent.turns.turn_loop import TurnLoop
from culture.client.client import Client
from culture.client.events import Event, HaltChanged
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.store.agent.file import AgentFile


class AgentAuthority:
    """The halt and the loop guard of one agent, and the gate that both make."""

    def __init__(
        self,
        file: AgentFile,
        client: Client,
        notices: Notices,
        turn_loop: Callable[[], TurnLoop],
        limits: LoopGuardConfig | None,
        people: Iterable[str],
    ) -> None:
        """`turn_loop` returns the turn loop, which needs the gate of this object first."""

        def interrupt(why: str) -> None:
            turn_loop().interrupt(Interruption(why, Fate.REPEATED))

        def look_again() -> None:
            turn_loop().wake()

        def tell(place: str, text: str) -> None:
            notices.alert(Alert(AlertKind.HELD_BACK, text, (place,)))

        self.halt = HaltGate(file, interrupt, look_again)
        self.loop_guard = LoopGuard(
            limits or LoopGuardConfig(),
            file,
            people,
            own_nick=lambda: client.nick,
            clock=time.monotonic,
            tell=tell,
            on_change=look_again,
        )
        self.gate = Gates(self.halt, self.loop_guard)

    def received(self, event: Event) -> None:
        """Take note of what the server says about a halt."""
        if isinstance(event, HaltChanged):
            self.halt.changed(event)
