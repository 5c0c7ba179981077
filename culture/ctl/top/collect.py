"""Ask everybody at once what `culturectl top` shows, with a deadline."""

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from culture.agent.ledger.reading import read_shares
from culture.agent.reporting.state import AgentState, Situation
from culture.config import loader
from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl.agent_files import state_directory
from culture.ctl.agents import Report, ask_at_once, is_installation, query, units_of
from culture.ctl.links import link_rows
from culture.ctl.output import Row
from culture.ctl.questions import stored_rows
from culture.ctl.top.model import AgentRows, Answers, Snapshot, build, rows_of
from culture.errors import CultureError, NoInputError
from culture.store.agent.transcript import Step, reading_transcript
from culture.store.ledger.file import local_day
from culture.store.ledger.records import usd

# How long one refresh waits for all agents together.
DEADLINE_S: Final = 4.0


class Collector:
    """Takes snapshots of the agents of one agents.yaml and the links of one ircd.yaml."""

    def __init__(self, agents_file: Path, ircd_file: Path) -> None:
        self._agents_file = agents_file
        self._ircd_file = ircd_file
        # The thread that asks each agent; while it hangs, no other is started for the same agent.
        self._threads: dict[str, threading.Thread] = {}

    def load(self) -> AgentsConfig:
        """Return what agents.yaml says now. Raises ConfigError if it is wrong."""
        return loader.load(self._agents_file, AgentsConfig)

    def snapshot(self) -> Snapshot:
        """Ask everybody and return what is known. Raises ConfigError if agents.yaml is wrong."""
        config = self.load()
        problems: list[str] = []
        answers = self._ask(config.agents)
        links, costs = self._links(problems), self._costs(problems)
        return build(time.time(), config.server.name, answers, links, costs, problems)

    def _ask(self, agents: tuple[AgentConfig, ...]) -> list[AgentRows]:
        is_service = is_installation(self._agents_file)
        units = units_of(agents) if is_service else {}
        found: dict[str, AgentRows] = {}

        def ask(agent: AgentConfig) -> None:
            try:
                report = query(agent, units, is_service=is_service)
                answers = Answers(report, _questions(agent.nick, report), _tool(agent.nick, report))
                found[agent.nick] = rows_of(answers)
            except (OSError, LookupError, TypeError, ValueError) as error:
                # For example, its daemon is older or newer than this program.
                found[agent.nick] = _hung(agent, f"its answer cannot be read: {error!r}")

        for agent in agents:
            if agent.nick not in self._threads:
                # A daemon thread does not hold up the end of the program.
                thread = threading.Thread(target=ask, args=(agent,), daemon=True)
                self._threads[agent.nick] = thread
                thread.start()
        deadline = time.monotonic() + DEADLINE_S
        for nick, thread in list(self._threads.items()):
            thread.join(max(deadline - time.monotonic(), 0))
            if not thread.is_alive():
                del self._threads[nick]
        late = f"no answer within {DEADLINE_S:.0f} s"
        return [found.get(agent.nick) or _hung(agent, late) for agent in agents]

    def _links(self, problems: list[str]) -> Sequence[Row]:
        try:
            return link_rows(self._ircd_file) or []
        except NoInputError:
            # A host may run agents alone.
            return []
        except CultureError as error:
            problems.append(f"links: {error}")
            return []

    def _costs(self, problems: list[str]) -> dict[str, float] | None:
        today = local_day(time.time())
        try:
            shares = read_shares(
                "agent", today, os.environ, is_installation=is_installation(self._agents_file)
            )
        except CultureError as error:
            problems.append(f"cost: {error}")
            return None
        return {share.name: usd(share.cost) for share in shares}


def _questions(nick: str, report: Report) -> Sequence[Row]:
    try:
        if report.screen is None:
            return stored_rows(nick)
        return list(ask_at_once(nick, "questions")["questions"])
    except CultureError:
        # The row of the agent says already that it does not answer or may not be asked.
        return []


def _tool(nick: str, report: Report) -> Step | None:
    turn = (report.screen or {}).get("turn")
    if not turn:
        return None
    try:
        directory = state_directory(nick)
        if directory is None:
            return None
        with reading_transcript(directory) as reader:
            return reader.running_tool(turn["id"])
    except CultureError:
        # Without the transcript, the row names the turn.
        return None


def _hung(agent: AgentConfig, why: str) -> AgentRows:
    row = {"nick": agent.nick, "backend": agent.agent, "service": None, "status": why}
    unknown = {"waiting": None, "cost_usd_today": None}
    situation = Situation(AgentState.HUNG, None, why)
    return rows_of(Answers(Report({**row, **situation.as_json(), **unknown}, None)))
