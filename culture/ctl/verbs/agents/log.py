"""`culturectl log`: show the transcript of an agent's turn."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from culture.agent.backend.environment import agent_state_directory
from culture.config import paths
from culture.ctl import output
from culture.ctl.options import add_json, add_nick
from culture.errors import NoInputError, NotAllowedError
from culture.protocol.plain_text import neutral
from culture.protocol.render import format_time
from culture.store.agent.transcript import (
    FILE,
    KeptStep,
    KeptTurn,
    StepKind,
    TranscriptReader,
    reading_transcript,
)

HEAD: Final = ("TURN", "BEGAN", "SECONDS", "FROM", "WHERE", "OUTCOME")
# How often --follow polls for new steps.
_POLL_INTERVAL_S: Final = 0.2
_LABELS: Final = {StepKind.PROMPT: "asked", StepKind.TEXT: "says", StepKind.THINKING: "thinks"}
_INDENT: Final = " " * 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument("turn", metavar="TURN", nargs="?", help="Id of the turn (default: the last one)")
    parser.add_argument("--follow", "-f", action="store_true", help="Follow the turn while the agent works")
    parser.add_argument("--list", action="store_true", help="List the recorded turns")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    with reading_transcript(_directory(options.nick)) as reader:
        if options.list:
            rows = [_row(turn) for turn in reader.turns()]
            output.show_rows(options, HEAD, rows, _cells)
            return 0
        turn = _find(reader, options)
        if turn is None and not options.follow:
            output.note(options, f"{options.nick} has not begun a turn yet")
            return 0
        try:
            for lines in _lines(reader, turn, options):
                output.show(lines)
                # A reader of a pipe gets each step at once.
                sys.stdout.flush()
        except KeyboardInterrupt:
            # As journalctl --follow ends.
            return 0
    return 0


def _find(reader: TranscriptReader, options: argparse.Namespace) -> KeptTurn | None:
    """Return the last turn of the given id, or the last of all if no id is given."""
    turns = reader.turns()
    if options.turn is None:
        return turns[-1] if turns else None
    named = [turn for turn in turns if turn.id == options.turn]
    if not named:
        hint = f"culturectl log {options.nick} --list"
        raise NoInputError(f"turn '{options.turn}' of {options.nick} is not kept", hint=hint)
    return named[-1]


def _lines(
    reader: TranscriptReader, turn: KeptTurn | None, options: argparse.Namespace
) -> Iterator[list[str]]:
    """Yield the lines of a turn. --follow waits for its end, and without an id goes on with later turns."""
    while True:
        if turn is not None:
            yield from _turn_lines(reader, turn, options)
        if not options.follow or options.turn is not None:
            return
        turn = _next(reader, turn)


def _next(reader: TranscriptReader, turn: KeptTurn | None) -> KeptTurn:
    while True:
        for each in reader.turns():
            if turn is None or each.number > turn.number:
                return each
        time.sleep(_POLL_INTERVAL_S)


def _turn_lines(reader: TranscriptReader, turn: KeptTurn, options: argparse.Namespace) -> Iterator[list[str]]:
    show = _as_json if options.json else _as_lines
    if not options.json:
        yield [_title(turn)]
    last = 0
    while True:
        # Read the turn before its steps, so that an ended turn has all of its steps.
        turns = reader.turns()
        now = next((each for each in turns if each.number == turn.number), turn)
        for step in reader.steps(turn.number, last):
            yield show(step)
            last = step.number
        is_over = now.ended_ms is not None or now.number != turns[-1].number
        if is_over or not options.follow:
            break
        time.sleep(_POLL_INTERVAL_S)
    if not options.json:
        yield [*_end(now), ""]


def _title(turn: KeptTurn) -> str:
    asked = (
        f"for {turn.senders} in {turn.place or 'private'}" if turn.senders else "begun by the backend itself"
    )
    return neutral(f"turn {turn.id}, {_date(turn.began_ms)}, {asked}")


def _end(turn: KeptTurn) -> list[str]:
    if turn.ended_ms is None:
        return [f"{_INDENT}the turn goes on, or was broken off"]
    error = f": {turn.error}" if turn.error else ""
    seconds = (turn.ended_ms - turn.began_ms) / 1000
    return [neutral(f"{_clock(turn.ended_ms)}  {turn.outcome} after {seconds:.1f} s{error}")]


def _as_lines(step: KeptStep) -> list[str]:
    """Return a line with the kind of step, and its text behind or below it."""
    at, inside = _clock(step.at_ms), "  (sub-agent)" if step.parent else ""
    match step.kind:
        case StepKind.TOOL:
            return [f"{at}  {neutral(step.name)}{inside}", *_below(_arguments(step), "")]
        case StepKind.RESULT:
            failed = [f"{_INDENT}failed:"] if step.failed else []
            return [*failed, *_below(_text(step), "| ")]
        case StepKind.PROMPT | StepKind.TEXT | StepKind.THINKING:
            first, *others = _text(step) or [""]
            return [f"{at}  {_LABELS[step.kind]}{inside}: {neutral(first)}", *_below(others, "")]


def _below(lines: list[str], mark: str) -> list[str]:
    # Control characters are removed, indentation stays.
    return [f"{_INDENT}{mark}{line[: len(line) - len(line.lstrip(' '))]}{neutral(line)}" for line in lines]


def _text(step: KeptStep) -> list[str]:
    if not step.left_out:
        return step.text.splitlines()
    between = f"… {step.left_out} characters left out …"
    return [*step.text.splitlines(), between, *step.tail.splitlines()]


def _arguments(step: KeptStep) -> list[str]:
    """Return `name: value` for each argument of a tool; long values take several lines."""
    try:
        given = json.loads(step.text) if not step.left_out else None
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return _text(step)
    lines = []
    for name, value in given.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *others = shown.splitlines() or [""]
        lines += [f"{name}: {first}", *(f"  {line}" for line in others)]
    return lines


def _as_json(step: KeptStep) -> list[str]:
    row: dict[str, Any] = {**step._asdict(), "kind": step.kind.value, "at": format_time(step.at_ms / 1000)}
    del row["at_ms"]
    return [json.dumps(row, ensure_ascii=False)]


def _row(turn: KeptTurn) -> dict[str, Any]:
    ended = None if turn.ended_ms is None else format_time(turn.ended_ms / 1000)
    return {
        "turn": turn.id,
        "began": format_time(turn.began_ms / 1000),
        "ended": ended,
        "seconds": None if turn.ended_ms is None else (turn.ended_ms - turn.began_ms) / 1000,
        "from": turn.senders,
        "where": turn.place or "private",
        "outcome": turn.outcome,
        "error": turn.error,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    seconds = "-" if row["seconds"] is None else f"{row['seconds']:.1f}"
    outcome = row["outcome"] or "-"
    told = f"{outcome}: {row['error']}" if row["error"] else outcome
    began = row["began"][:19].replace("T", " ")
    return [*map(neutral, (row["turn"], began, seconds, row["from"] or "-", row["where"], told))]


def _date(at_ms: int) -> str:
    return format_time(at_ms / 1000)[:19].replace("T", " ")


def _clock(at_ms: int) -> str:
    return format_time(at_ms / 1000)[11:19]


def _directory(nick: str) -> Path:
    """Return the state directory of an agent, whether a user or systemd runs it."""
    places = (agent_state_directory(nick, os.environ), paths.SYSTEM_STATE / "agents" / nick)
    try:
        found = next((place for place in places if (place / FILE).exists()), None)
    except PermissionError as error:
        hint = "run it as root or as the agent's user"
        raise NotAllowedError(f"'{error.filename}' cannot be read", hint=hint) from None
    if found is None:
        raise NoInputError(f"there is no transcript of '{nick}'", hint="culturectl list-agents")
    return found
