"""`culturectl status`: show the status of this host or of one agent."""

import argparse
import os
from collections.abc import Iterator
from typing import Any, Final

from culture import errors
from culture.config import loader, paths
from culture.config.agents import AgentsConfig, find_agent
from culture.ctl import output
from culture.ctl.agent_call import StoppedUnitError, ask, unit_of
from culture.ctl.options import add_json
from culture.ctl.units.missing import find_missing
from culture.errors import ConfigError, UnavailableError, UsageError
from culture.names import is_channel
from culture.protocol.plain_text import neutral

_NOT_ACTIVE: Final = 3  # as of systemctl status

Screen = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("nick", nargs="?", metavar="NICK", help="Nick of an agent (default: the whole host)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if options.nick is None:
        if options.json:
            raise UsageError("status --json needs a nick", hint="culturectl list-agents --json")
        # Imported here, because the status of one agent does not need it.
        from culture.ctl.verbs.host import host_status

        return host_status.show(options)
    try:
        screen = ask(options.nick, {"type": "status"})["screen"]
    except UnavailableError as error:
        # systemctl status prints no JSON.
        if isinstance(error, StoppedUnitError) and not options.json:
            _warn_of_missing(options.nick)
            return _hand_over(unit_of(options.nick), options)
        output.warn(errors.describe("culturectl", error).rstrip())
        return _NOT_ACTIVE
    if options.json:
        output.show_json([screen])
    else:
        output.show(describe(screen))
    return 0


def _warn_of_missing(nick: str) -> None:
    """Warn about missing files and users, which may be why the service does not run."""
    path = paths.config_file("agents.yaml", os.environ)
    try:
        config = loader.load(path, AgentsConfig)
        problems = find_missing(config, find_agent(config, nick, where=str(path)))
    except errors.CultureError as error:
        output.warn(errors.describe("culturectl", error).rstrip())
        return
    if problems:
        output.warn(errors.describe("culturectl", ConfigError(problems)).rstrip())


def _hand_over(unit: str, options: argparse.Namespace) -> int:
    pager = ["--no-pager"] if options.no_pager else []
    try:
        os.execvp("systemctl", ["systemctl", "status", *pager, "--", unit])
    except OSError as error:
        raise UnavailableError(f"cannot run systemctl: {error.strerror}") from None


def describe(screen: Screen) -> list[str]:
    """Return the lines for an agent's status."""
    rows = [(label, neutral(text)) for label, text in _rows(screen)]
    return [f"{screen['nick']} - {screen['backend']} agent", *output.labelled(rows)]


def _rows(screen: Screen) -> Iterator[tuple[str, str]]:
    yield "state", _state(screen["state"])
    yield "status", screen["status"]
    yield "server", f"{'connected to' if screen['connected'] else 'not connected to'} {screen['server']}"
    yield "channels", ", ".join(screen["channels"]) or "none"
    yield "queue", ", ".join(f"{count} {state}" for state, count in screen["queue"].items())
    yield "turn", _turn(screen["turn"])
    yield "waits for", ", ".join(map(_asked, screen["asks"])) or "nobody"
    yield "session", f"{screen['session'] or 'none yet'}, {'running' if screen['running'] else 'not running'}"
    yield "directory", screen["directory"]
    yield "context", "not told" if screen["context"] is None else f"{screen['context']:.0%} full"
    yield "today", _spent(screen["today"])
    yield "in total", _spent(screen["total"])
    for budget in screen["budgets"]:
        yield "budget", _budget(budget)
    yield "last error", screen["last_error"] or "none"


def _state(state: dict[str, Any]) -> str:
    since = f" since {state['since'][:19].replace('T', ' ')}" if state["since"] else ""
    return f"{state['state']}{since}{': ' if state['why'] else ''}{state['why']}"


def _asked(target: str) -> str:
    return f"an answer in {target}" if is_channel(target) else f"an answer of {target}"


def _turn(turn: dict[str, Any] | None) -> str:
    return f"{turn['id']} for {turn['for']} {turn['where']}, {turn['seconds']} s" if turn else "none"


def _budget(budget: dict[str, Any]) -> str:
    whose = budget["name"] if budget["scope"] == "agent" else f"all agents of {budget['name']}"
    held = f", {budget['held_usd']:.2f} USD reserved" if budget["held_usd"] else ""
    return f"{budget['spent_usd']:.2f} of {budget['limit_usd']:.2f} USD of {whose} today{held}"


def _spent(spent: dict[str, Any]) -> str:
    turns = "1 turn" if spent["turns"] == 1 else f"{spent['turns']} turns"
    tokens = f"{spent['input_tokens']} tokens in, {spent['cached_tokens']} of them cached"
    return f"{spent['cost_usd']:.4f} USD, {turns}, {tokens}, {spent['output_tokens']} out"
