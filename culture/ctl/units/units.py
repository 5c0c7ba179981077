"""`culturectl units`: write systemd drop-ins from agents.yaml."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from culture import errors
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.ctl import output
from culture.ctl.agent_call import unit_of
from culture.ctl.options import add_agents_config
from culture.ctl.systemctl import control
from culture.ctl.units.dropins import (
    DIRECTORY,
    apply,
    drop_ins_of,
    installed_agents,
    nick_of,
    remove_drop_ins,
    render,
)
from culture.ctl.units.hand_over import hand_over_files
from culture.ctl.units.missing import find_missing
from culture.ctl.units.move_credentials import move_credentials
from culture.ctl.units.stop import stop_units
from culture.errors import ConfigError
from culture.systemd.journal import tell_about_unit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("nicks", nargs="*", metavar="NICK", help="Agents (default: all in agents.yaml)")
    parser.add_argument("--dry-run", action="store_true", help="Show what would be written")
    check = "Only report users, directories and credentials that are missing"
    parser.add_argument("--check", action="store_true", help=check)
    upgrade = "Give each agent its share of the credentials and files of version 0.1"
    parser.add_argument("--upgrade", action="store_true", help=upgrade)
    root = "Write below this directory, and do not reload systemd"
    parser.add_argument("--root", type=Path, metavar="DIR", help=root)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    nicks = options.nicks or [agent.nick for agent in config.agents]
    agents = [find_agent(config, nick, where=str(path)) for nick in nicks]
    if options.check:
        return _report_missing(config, agents)
    root = options.root or Path("/")
    directory = root / DIRECTORY.relative_to("/")
    if options.upgrade:
        output.show(move_credentials(config, root, dry_run=options.dry_run))
        if not (options.root or options.dry_run):
            output.show(hand_over_files(config))
        # Drop-ins that an older version wrote name the files where they were.
        agents = [agent for agent in agents if drop_ins_of(agent.nick, directory)]
    rendered = {file: text for agent in agents for file, text in render(agent).items()}
    is_complete = not (options.nicks or options.root or options.upgrade)
    # Only the file of the installation tells which services this host is to have.
    is_complete = is_complete and path.parent == paths.SYSTEM_CONFIG
    removed = _removed_agents(config, directory) if is_complete else []
    if options.dry_run:
        for file, text in rendered.items():
            output.show([f"# {directory / file}\n{text}" if text else f"# {directory / file}: not needed\n"])
        output.show(f"# {nick} is not in {path}: its units would be stopped and disabled" for nick in removed)
        return 0
    changed = apply(rendered, directory)
    output.show(str(directory / file) for file in changed)
    for nick in removed:
        output.show(map(str, remove_drop_ins(nick, directory)))
        stop_units(nick)
        output.note(options, f"{nick} is not in {path}: its units are stopped and disabled, its files stay")
    if options.root:
        return 0
    if changed or removed:
        control("daemon-reload")
    if changed:
        units = "culture-agent@NICK.socket culture-agent@NICK.service"
        output.note(options, f"hint: for agents that run: systemctl restart {units}")
    return _report_missing(config, agents)


def _removed_agents(config: AgentsConfig, directory: Path) -> list[str]:
    there = installed_agents(directory) | _running_agents()
    return sorted(there - {agent.nick for agent in config.agents})


def _report_missing(config: AgentsConfig, agents: Sequence[AgentConfig]) -> int:
    """Report what is missing for the services of these agents, and return the exit status."""
    problems = {agent.nick: find_missing(config, agent) for agent in agents}
    for nick, found in problems.items():
        text = errors.describe("culturectl", ConfigError(found)).rstrip()
        if found and os.environ.get("MONITOR_UNIT"):
            # Its service failed and systemd started us (systemd.exec(5)): `systemctl status` is to show why.
            tell_about_unit("culturectl", unit_of(nick), text)
        elif found:
            output.warn(text)
    return ConfigError.exit_status if any(problems.values()) else 0


def _running_agents() -> set[str]:
    """Return the nicks of which systemd knows a unit, whether it runs or failed."""
    # It is an error where systemd does not run, and then no agent does.
    told = control("list-units", "--all", "--plain", "--no-legend", "culture-agent@*", may_fail=True)
    return {nick for line in told.splitlines() if line.strip() and (nick := nick_of(line.split()[0]))}
