"""scripts/bench: one row per thing that is measured."""

import argparse
import asyncio
import json

import mention

VERBS = {"mention": (mention.measure, "from PRIVMSG written to send_prompt called")}


def main() -> None:
    options = _parser().parse_args()
    measure, _ = VERBS[options.verb]
    figures = asyncio.run(measure(options.count))
    print(json.dumps(figures) if options.json else _in_words(figures))


def _in_words(figures: dict) -> str:
    keys = ("p50", "p99", "max")
    lines = [" " * 34 + "".join(f"{key:>9}" for key in keys) + "   ms"]
    for name, value in figures.items():
        if isinstance(value, dict):
            lines.append(f"{name:34}" + "".join(f"{value[key]:9.3f}" for key in keys))
        else:
            lines.append(f"{name:34}{value:9}")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure what is promised.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, (_, summary) in VERBS.items():
        verb = verbs.add_parser(name, help=summary, description=summary)
        verb.add_argument("--count", type=int, default=2000, metavar="N", help="how often (2000)")
        verb.add_argument("--json", action="store_true", help="figures for a program")
    return parser


if __name__ == "__main__":
    main()
