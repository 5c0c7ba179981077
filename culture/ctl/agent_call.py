"""Send a request to a running agent over its socket, without starting one that is stopped."""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.skill.calling import NobodyAnswersError, call, socket_of
from culture.config import paths
from culture.errors import NoInputError, NotAllowedError, UnavailableError

# How long to wait for the socket of an agent that is starting.
_CONNECT_TIMEOUT_S: Final = 0.5


class StoppedUnitError(UnavailableError):
    """The agent is a systemd service that is not running."""


def unit_of(nick: str) -> str:
    """Return the name of the systemd service of an agent."""
    return f"culture-agent@{nick}.service"


def operator_name() -> str:
    """Return the name of the person who runs culturectl, also if they do so by sudo."""
    return os.environ.get("SUDO_USER") or getpass.getuser()


def ask(nick: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agent's answer.

    Raises UnavailableError if the agent is not running, and ConfigError if there is no such agent.
    """
    path = socket_of(nick, os.environ)
    if is_stopped_unit(nick, path):
        raise StoppedUnitError(f"{nick} is not running", hint=f"systemctl start {unit_of(nick)}")
    try:
        return call(path, {**request, "by": "person"}, wait_s=_CONNECT_TIMEOUT_S)
    except NobodyAnswersError as error:
        configured, start = _configured(nick, error)
    if configured != nick:
        return ask(configured, request)
    raise UnavailableError(f"{nick} is not running", hint=start)


def _configured(nick: str, no_answer: NobodyAnswersError) -> tuple[str, str]:
    """Return the nick as agents.yaml spells it, whatever its case, and the command that starts the agent."""
    # Imported here, because most calls are answered and do not need it.
    from culture.config import loader
    from culture.config.agents import AgentsConfig, find_agent

    path = paths.config_file("agents.yaml", os.environ)
    try:
        agent = find_agent(loader.load(path, AgentsConfig), nick, where=str(path))
    except (NoInputError, NotAllowedError):
        # The file cannot be read, so that nobody answered is all that is known.
        raise no_answer from None
    is_service = path.parent == paths.SYSTEM_CONFIG
    return agent.nick, f"systemctl start {unit_of(agent.nick)}" if is_service else "culturectl up"


def is_stopped_unit(nick: str, path: Path) -> bool:
    """Return whether the agent is a service that is not running.

    A client must not connect then: systemd owns the socket and would start the service.
    """
    if path.parent != paths.SYSTEM_RUNTIME:
        return False
    # Imported here, because agents of `culturectl up` do not need it.
    from culture.ctl import systemctl

    return not systemctl.is_active(unit_of(nick))
