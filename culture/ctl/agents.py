"""The agents of this host, as agents.yaml, systemd and the agents themselves report them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.skill.calling import call
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl import systemctl
from culture.ctl.agent_call import unit_of
from culture.ctl.output import Row
from culture.errors import CultureError, NoInputError, NotAllowedError, UnavailableError
from culture.protocol.plain_text import neutral

AGENT_COLUMNS: Final = ("NICK", "BACKEND", "STATE", "WAITING", "TODAY", "STATUS")
# How long the list waits for an agent that hangs.
_ANSWER_TIMEOUT_S: Final = 2.0
_RUNNING: Final = ("running", "starting", "stopping")


def agent_rows(file: Path) -> tuple[list[Row], dict[str, systemctl.Unit]]:
    """Return a row for each agent of agents.yaml, and the units of Culture that systemd has loaded."""
    agents = loader.load(file, AgentsConfig).agents
    units = _units(agents) if is_installation(file) else {}
    return [_row(agent, units, is_installation(file)) for agent in agents], units


def is_installation(file: Path) -> bool:
    """Return whether a configuration file belongs to the installed services."""
    return file.parent == paths.SYSTEM_CONFIG


def agent_cells(row: Row) -> list[str]:
    """Return the cells of a row, in the order of AGENT_COLUMNS."""
    waiting = "-" if row["waiting"] is None else str(row["waiting"])
    cost = "-" if row["cost_usd_today"] is None else f"{row['cost_usd_today']:.2f} USD"
    return [row["nick"], row["backend"], row["state"], waiting, cost, neutral(row["status"])]


def _units(agents: tuple[AgentConfig, ...]) -> dict[str, systemctl.Unit]:
    try:
        return systemctl.show(["culture-*", *(unit_of(agent.nick) for agent in agents)])
    except UnavailableError:
        # Agents answer over their sockets also where systemd does not run.
        return {}


def _row(agent: AgentConfig, units: Mapping[str, systemctl.Unit], is_service: bool) -> Row:
    unit = units.get(unit_of(agent.nick))
    state = systemctl.state_of(unit) if is_service else ""
    # A connection to the socket of a stopped service would start the service.
    screen, reason = ({}, "") if state and state not in _RUNNING else _ask(agent.nick)
    status = str(screen.get("status") or (unit or {}).get("StatusText") or reason)
    return {
        "nick": agent.nick,
        "backend": agent.agent,
        "state": "paused" if screen.get("paused") else state or ("running" if screen else "stopped"),
        "status": status,
        "waiting": screen["queue"]["queued"] if screen else None,
        "cost_usd_today": screen["today"]["cost_usd"] if screen else None,
    }


def _ask(nick: str) -> tuple[dict[str, Any], str]:
    """Return the status that the agent reports; if there is none, an empty one and the reason."""
    path = paths.agent_socket(nick, {**os.environ, "CULTURE_SOCKET": ""})
    try:
        request = {"type": "status", "by": "person"}
        return dict(call(path, request, wait_s=0.0, answer_timeout_s=_ANSWER_TIMEOUT_S)["screen"]), ""
    except NotAllowedError:
        return {}, "permission denied: only root and the agent's user may query it"
    except (UnavailableError, NoInputError):
        return {}, ""
    except CultureError as error:
        return {}, str(error)
