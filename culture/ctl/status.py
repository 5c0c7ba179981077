"""`culturectl status`: one agent on one screen; everything else is systemctl's to tell."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, Final

from culture import errors
from culture.agent.prompt import neutral
from culture.agent.skill.calling import socket_of
from culture.ctl.asked import ask, is_stopped_unit, unit_of
from culture.errors import UnavailableError, UsageError
from culture.names import is_channel

_NOT_ACTIVE: Final = 3  # as systemctl status has it

Screen = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nick", nargs="?", metavar="NICK", help="an agent; default: all units, by systemctl")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    if options.nick is None:
        if options.json:
            raise UsageError("status --json needs a nick", hint="systemctl show 'culture-*'")
        return _hand_over("culture-*")
    # A program that asked for JSON cannot read what systemctl shows.
    if not options.json and is_stopped_unit(options.nick, socket_of(options.nick, os.environ)):
        return _hand_over(unit_of(options.nick))
    try:
        screen = ask(options.nick, {"type": "status"})["screen"]
    except UnavailableError as error:
        sys.stderr.write(errors.describe("culturectl", error))
        return _NOT_ACTIVE
    if options.json:
        print(json.dumps(screen, ensure_ascii=False))
    else:
        print("\n".join(describe(screen)))
    return 0


def _hand_over(units: str) -> int:
    try:
        os.execvp("systemctl", ["systemctl", "status", "--", units])
    except OSError as error:
        raise UnavailableError(
            f"cannot run systemctl: {error.strerror}", hint="culturectl status NICK"
        ) from None


def describe(screen: Screen) -> list[str]:
    rows = list(_rows(screen))
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:>{width}}: {neutral(text)}" for label, text in rows]
    return [f"{screen['nick']} - {screen['backend']} agent", *lines]


def _rows(screen: Screen) -> Iterator[tuple[str, str]]:
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
    yield "last error", screen["last_error"] or "none"


def _asked(target: str) -> str:
    return f"an answer in {target}" if is_channel(target) else f"an answer of {target}"


def _turn(turn: dict[str, Any] | None) -> str:
    return f"{turn['id']} for {turn['for']} {turn['where']}, {turn['seconds']} s" if turn else "none"


def _spent(spent: dict[str, Any]) -> str:
    turns = "1 turn" if spent["turns"] == 1 else f"{spent['turns']} turns"
    tokens = f"{spent['input_tokens']} tokens in, {spent['cached_tokens']} of them cached"
    return f"{spent['cost_usd']:.4f} USD, {turns}, {tokens}, {spent['output_tokens']} out"
