"""The agents of this host, as agents.yaml, systemd and the agents themselves report them."""

import os
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from culture.agent.reporting.state import AgentState, Situation
from culture.agent.skill.calling import NobodyAnswersError, call
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl import systemctl
from culture.ctl.agent_call import unit_of
from culture.ctl.output import Row
from culture.errors import CultureError, NotAllowedError, UnavailableError
from culture.protocol.plain_text import neutral

AGENT_COLUMNS: Final = ("NICK", "BACKEND", "STATE", "SINCE", "WAITING", "TODAY", "STATUS")
# How long the list waits for an agent that hangs.
_ANSWER_TIMEOUT_S: Final = 2.0
# The state of an agent that the user may not ask.
UNKNOWN: Final = "unknown"


class Report(NamedTuple):
    """What is known about an agent: a row for `list-agents`, and its own status if it answered."""

    row: Row
    screen: dict[str, Any] | None


def agent_rows(file: Path) -> tuple[list[Row], dict[str, systemctl.Unit]]:
    """Return a row for each agent of agents.yaml, and the units of Culture that systemd has loaded."""
    agents = loader.load(file, AgentsConfig).agents
    units = units_of(agents) if is_installation(file) else {}
    return [query(agent, units, is_service=is_installation(file)).row for agent in agents], units


def is_installation(file: Path) -> bool:
    """Return whether a configuration file belongs to the installed services."""
    return file.parent == paths.SYSTEM_CONFIG


def agent_cells(row: Row) -> list[str]:
    """Return the cells of a row, in the order of AGENT_COLUMNS."""
    waiting = "-" if row["waiting"] is None else str(row["waiting"])
    cost = "-" if row["cost_usd_today"] is None else f"{row['cost_usd_today']:.2f} USD"
    since = elapsed(row["since"], time.time())
    return [row["nick"], row["backend"], row["state"], since, waiting, cost, neutral(row["status"])]


def elapsed(since: str | None, now_s: float) -> str:
    """Return how long ago a time was, in its largest unit: `5 min`. The time is as in server-time."""
    if not since:
        return "-"
    seconds = max(int(now_s - datetime.fromisoformat(since).timestamp()), 0)
    for unit, length_s in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds // length_s} {unit}"
    return f"{seconds} s"


def units_of(agents: tuple[AgentConfig, ...]) -> dict[str, systemctl.Unit]:
    """Return the units of Culture that systemd has loaded; none where systemd does not run."""
    try:
        return systemctl.show(["culture-*", *(unit_of(agent.nick) for agent in agents)])
    except UnavailableError:
        # Agents answer over their sockets also where systemd does not run.
        return {}


def query(agent: AgentConfig, units: Mapping[str, systemctl.Unit], *, is_service: bool) -> Report:
    """Ask an agent for its status, unless its service does not run."""
    unit = units.get(unit_of(agent.nick))
    service = systemctl.state_of(unit) if is_service else ""
    text = (unit or {}).get("StatusText", "")
    row = {"nick": agent.nick, "backend": agent.agent, "service": service or None}
    # A connection to the socket of a stopped service would start the service.
    if service not in ("", "running"):
        situation = Situation(AgentState.DEAD, systemctl.changed_s(unit), f"the service is {service}")
        return Report({**row, **situation.as_json(), **_unanswered(text or situation.why)}, None)
    try:
        screen = dict(ask_at_once(agent.nick, "status")["screen"])
    except NotAllowedError:
        why = "permission denied: only root and the agent's user may query it"
        return Report({**row, "state": UNKNOWN, "since": None, "why": why, **_unanswered(text or why)}, None)
    except CultureError as error:
        is_dead = isinstance(error, NobodyAnswersError) and not service
        situation = (
            Situation(AgentState.DEAD, None, "no process answers")
            if is_dead
            else Situation(AgentState.HUNG, None, f"its process does not answer: {error}")
        )
        return Report({**row, **situation.as_json(), **_unanswered(situation.why)}, None)
    # During an upgrade an agent of the version before may answer, which does not tell its state.
    screen.setdefault("state", {"state": UNKNOWN, "since": None, "why": "the agent runs an older version"})
    today = screen["today"]["cost_usd"]
    answered = {"status": screen["status"], "waiting": screen["queue"]["queued"], "cost_usd_today": today}
    return Report({**row, **screen["state"], **answered}, screen)


def _unanswered(status: str) -> Row:
    return {"status": status, "waiting": None, "cost_usd_today": None}


def ask_at_once(nick: str, what: str) -> dict[str, Any]:
    """Return what a running agent reports, and wait only briefly for it."""
    path = paths.agent_socket(nick, {**os.environ, "CULTURE_SOCKET": ""})
    request = {"type": what, "by": "person"}
    return call(path, request, wait_s=0.0, answer_timeout_s=_ANSWER_TIMEOUT_S)
