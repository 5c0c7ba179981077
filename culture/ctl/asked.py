"""Asking a running agent: over its socket, and without waking one that is stopped."""

import argparse
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.skill.calling import NobodyAnswersError, call, socket_of
from culture.config import loader, paths
from culture.config.agents import AgentsConfig, find_agent
from culture.config.paths import SYSTEM_RUNTIME
from culture.errors import NoInputError, NotAllowedError, UnavailableError

_SHORTLY_S: Final = 0.5
"""How long to wait for who is just being started."""


def add_nick(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nick", metavar="NICK", help="the agent")


def unit_of(nick: str) -> str:
    return f"culture-agent@{nick}.service"


def ask(nick: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's answer. Raises UnavailableError if it does not run, ConfigError if there is none."""
    path = socket_of(nick, os.environ)
    if is_stopped_unit(nick, path):
        raise UnavailableError(f"{nick} is not running", hint=f"systemctl start {unit_of(nick)}")
    try:
        return call(path, {**request, "by": "person"}, wait_s=_SHORTLY_S)
    except NobodyAnswersError as error:
        spelled, start = _configured(nick, error)
    if spelled != nick:
        return ask(spelled, request)
    raise UnavailableError(f"{nick} is not running", hint=start)


def _configured(nick: str, silence: NobodyAnswersError) -> tuple[str, str]:
    """How agents.yaml spells it, which knows it in capitals too, and what starts it."""
    path = paths.config_file("agents.yaml", os.environ)
    try:
        agent = find_agent(loader.load(path, AgentsConfig), nick, where=str(path))
    except (NoInputError, NotAllowedError):
        # Without a file that we may read, that nobody answers is all we know.
        raise silence from None
    is_service = path.parent == paths.SYSTEM_CONFIG
    return agent.nick, f"systemctl start {unit_of(agent.nick)}" if is_service else "culturectl up"


def is_stopped_unit(nick: str, path: Path) -> bool:
    """Whether it is a service that does not run. To connect would start it: its socket belongs to systemd."""
    if path.parent != SYSTEM_RUNTIME:
        return False
    command = ("systemctl", "is-active", "--quiet", unit_of(nick))
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=10, check=False).returncode != 0
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"cannot run systemctl: {error}") from None
