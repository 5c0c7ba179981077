"""`culturectl create`: add an agent to agents.yaml."""

import argparse
import json
import os
import socket
import sys
from typing import Any, Final, get_args, get_type_hints

from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl import output
from culture.ctl.agent_call import unit_of
from culture.ctl.agents import is_installation
from culture.ctl.agents_file import with_agent
from culture.ctl.files import replace_file
from culture.ctl.fleet.record import is_managed
from culture.ctl.options import add_agents_config
from culture.errors import ConfigError, Problem, UsageError
from culture.names import host_from_machine, nick_prefix

_BACKENDS: Final = get_args(get_type_hints(AgentConfig)["agent"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("nick", nargs="?", metavar="NEW-NICK", help="Nick of the new agent, <host>-<name>")
    parser.add_argument("--backend", choices=_BACKENDS, help="Program that runs it (default: claude)")
    channels = "Channels that it joins, separated by commas (default: #general)"
    parser.add_argument("--channels", metavar="NAMES", help=channels)
    parser.add_argument("--directory", metavar="DIR", help="Directory that it works in (default: its own)")
    parser.add_argument("--dry-run", action="store_true", help="Show the new file instead of writing it")
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = options.config or paths.config_file("agents.yaml", os.environ)
    text = loader.read_text(path) if path.exists() else ""
    config = loader.parse(text, AgentsConfig, where=str(path))
    host = config.server.name or host_from_machine(socket.gethostname())
    answers = _complete(options, host)
    if any(agent.nick.lower() == answers["nick"].lower() for agent in config.agents):
        raise UsageError(f"there is an agent '{answers['nick']}' already", hint="culturectl edit agents")
    agent = _parse(answers)
    result = with_agent(text, agent, where=str(path))
    if options.dry_run:
        output.show([result.rstrip()])
        return 0
    replace_file(path, result)
    if is_managed():
        output.warn("culturectl: this host is managed by a fleet file: add the agent there too")
    unit = unit_of(agent.nick)
    start = f"culturectl units && systemctl enable --now {unit}" if is_installation(path) else "culturectl up"
    output.note(options, f"{agent.nick} is in '{path}'\nhint: {start}")
    return 0


def _parse(answers: dict[str, Any]) -> AgentConfig:
    try:
        # JSON is YAML.
        return loader.parse(json.dumps(answers), AgentConfig, where="")
    except ConfigError as error:
        problems = [Problem("the new agent", each.what, each.hint) for each in error.problems]
        raise ConfigError(problems) from None


def _complete(options: argparse.Namespace, host: str) -> dict[str, Any]:
    """Return what was given, and ask for the rest in a terminal."""
    asked = options.nick is None
    if asked and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("the nick is missing", hint=f"culturectl create {nick_prefix(host)}claude")
    nick = options.nick or _ask("nick", f"{nick_prefix(host)}claude")
    backend = options.backend or (_ask(f"backend ({', '.join(_BACKENDS)})", "claude") if asked else "claude")
    channels = options.channels or (_ask("channels", "#general") if asked else "#general")
    directory = options.directory or (_ask("directory (empty: its own)", "") if asked else "")
    answers = {"nick": nick, "agent": backend, "channels": channels.replace(",", " ").split()}
    return {**answers, "directory": directory} if directory else answers


def _ask(what: str, default: str) -> str:
    """Ask the person at the terminal; an empty answer is the default."""
    output.ask(f"{what} [{default}]: " if default else f"{what}: ")
    return sys.stdin.readline().strip() or default
