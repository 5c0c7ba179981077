"""scripts/bench: one row per thing that is measured."""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass

import agent
import control
import history
import ircd
import mesh


@dataclass(frozen=True, slots=True)
class Verb:
    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    measure: Callable[[argparse.Namespace], dict]
    in_words: Callable[[dict], str]


def main() -> None:
    options = _parser().parse_args()
    verb = VERBS[options.verb]
    figures = verb.measure(options)
    print(json.dumps(figures) if options.json else verb.in_words(figures))


def _percentiles_in_words(figures: dict) -> str:
    keys = ("p50", "p99", "max")
    lines = [" " * 34 + "".join(f"{key:>9}" for key in keys) + "   ms"]
    for name, value in figures.items():
        if isinstance(value, dict):
            lines.append(f"{name:34}" + "".join(f"{value[key]:9.3f}" for key in keys))
        else:
            lines.append(f"{name:34}{value:9}")
    return "\n".join(lines)


VERBS = {
    "agent": Verb(
        "what an agent's daemon costs: to start, to be asked, to wait",
        agent.add_options,
        agent.measure,
        _percentiles_in_words,
    ),
    "control": Verb(
        "what it costs to keep agents under control: tokens of supervisors, model calls while idle",
        control.add_options,
        control.measure,
        control.in_words,
    ),
    "history": Verb(
        "what history costs a message, and how soon it answers",
        history.add_options,
        history.measure,
        _percentiles_in_words,
    ),
    "mesh": Verb(
        "what links cost: latency, catching up, bytes, CPU",
        mesh.add_options,
        mesh.measure,
        _percentiles_in_words,
    ),
    "ircd": Verb(
        "culture-ircd beside the IRC servers of others", ircd.add_options, ircd.measure, ircd.in_words
    ),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure what is promised.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, row in VERBS.items():
        verb = verbs.add_parser(name, help=row.summary, description=row.summary)
        row.add_options(verb)
        verb.add_argument("--json", action="store_true", help="figures for a program")
    return parser


if __name__ == "__main__":
    main()
