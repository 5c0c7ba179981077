"""One agent of the weekend: the real daemon on its files, which can be killed and started again."""

import asyncio
import random
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from culture.agent.daemon import AgentDaemon
from culture.agent.ledger.settings import cost_settings, ledger_in
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import Webhooks
from culture.agent.supervision.booked_model import BookedModel
from culture.agent.supervision.supervisor import Supervisor
from culture.client.connection import Patience
from culture.config.address import UnixAddress
from culture.config.agent.supervisor import HeartbeatConfig
from culture.config.agents import AgentConfig, AgentsConfig
from culture.errors import CultureError
from culture.net.listen.listeners import FOR_THE_OWNER, open_listener
from culture.store.agent.file import AgentFile
from support.weekend.checks import Checks
from support.weekend.model import WeekendJudge, WeekendModel
from support.weekend.virtual_time import Process

if TYPE_CHECKING:
    from support.weekend.weekend import Weekend

# The connection in memory never falls silent, so nobody needs to ask whether it is there.
PATIENT = Patience(silence_s=30 * 86400.0)
# How often an agent that waits for money asks again. Twenty agents that ask every 30 s take most of the time.
RECHECK_S = 1800.0


class SimulatedAgent:
    """The daemon of one agent, its backend and its files."""

    daemon: AgentDaemon

    def __init__(
        self, world: "Weekend", config: AgentsConfig, agent: AgentConfig, home: Path, checks: Checks
    ) -> None:
        self.world = world
        self.checks = checks
        self.config = agent
        self.nick = agent.nick
        self.random = random.Random(f"{world.seed} {agent.nick}")
        self.login = "login-b" if agent.model else "login-a"
        self.directory = home / agent.nick
        self._config = config
        self._home = home
        self._process: Process | None = None

    @property
    def is_up(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start the process."""
        self._process = Process()
        # Build the daemon in the context of the process, to which its tasks and timers belong.
        self._process.enter().run(self._build)

    def _build(self) -> None:
        self.file = AgentFile(self.directory)
        self._ledger = ledger_in(self._home, self._config)
        self._socket = self._open_socket()
        self.daemon = AgentDaemon(
            self.config,
            UnixAddress(f"/weekend/{self.nick}"),
            lambda resume: WeekendModel(self, resume),
            self._socket,
            self.file,
            self._home,
            limits=self._config.turns,
            trust=self._config.trust,
            loop_guard=self._config.loop_guard,
            patience=PATIENT,
            supervisor=self._supervisor(),
            webhooks=Webhooks(self._config.webhooks, JournalEvents(self.nick, "claude")),
            costs=replace(
                cost_settings(self._config, self.config, self._ledger, login=self.login), recheck_s=RECHECK_S
            ),
        )
        asyncio.get_running_loop().create_task(self._run(self.daemon))

    def _open_socket(self) -> socket.socket:
        return open_listener(UnixAddress(str(self._home / f"{self.nick}.sock")), unix_mode=FOR_THE_OWNER)

    def _supervisor(self) -> Supervisor:
        return Supervisor(
            self._config.supervisor,
            HeartbeatConfig(),
            BookedModel(
                lambda: WeekendJudge(self), lambda: self.daemon.costs.account.side_session("supervisor")
            ),
            JournalEvents(self.nick, "claude"),
            clock=time.monotonic,
        )

    async def _run(self, daemon: AgentDaemon) -> None:
        try:
            await daemon.run(lambda: None)
        except CultureError as error:
            # The service manager starts it again.
            self.world.restart(self, error)

    async def kill(self) -> None:
        """End the process as kill -9 does: nothing is written any more."""
        process, self._process = self._process, None
        assert process is not None
        self.checks.killed(self)
        self.file.close()
        self._ledger.close()
        await process.kill()
        self._socket.close()
