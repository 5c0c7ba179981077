"""scripts/fuzz: games until so many lines were typed and so many clients have come."""

import argparse
import hashlib
import secrets
import sys
import time
import traceback
from pathlib import Path

from support.fuzz.generate import play_random
from support.fuzz.shrink import shrink_game
from support.fuzz.steps import Step, format_steps

SEEDS = Path(__file__).parents[2] / "ircd/seeds"
TELL_EVERY_S = 5.0


def main() -> int:
    options = _parser().parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    began = told = time.monotonic()
    games = lines = sessions = 0
    while lines < options.lines or sessions < options.sessions:
        steps, failure = play_random(seed + games)
        if failure is not None:
            _report(seed + games, steps, failure)
            return 1
        games += 1
        lines += sum(step.data.count(b"\n") for step in steps)
        sessions += sum(step.act == "connect" for step in steps)
        if time.monotonic() - told > TELL_EVERY_S:
            told = time.monotonic()
            print(_progress(games, lines, sessions, told - began), flush=True)
    print(_progress(games, lines, sessions, time.monotonic() - began) + ": everything held")
    return 0


def _report(seed: int, steps: list[Step], failure: Exception) -> None:
    print(f"seed {seed} fails; looking for the shortest way there", flush=True)
    text = format_steps(shrink_game(steps, failure))
    path = SEEDS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.txt"
    path.write_text(f"# {type(failure).__name__}: {str(failure)[:200]!r}\n{text}")
    print(text)
    traceback.print_exception(failure)
    print(f"kept as {path}\nhint: scripts/fuzz --seed {seed}", file=sys.stderr)


def _progress(games: int, lines: int, sessions: int, seconds: float) -> str:
    return f"{games} games, {lines} lines, {sessions} sessions in {seconds:.0f} s"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description="Type at the server until something breaks."
    )
    parser.add_argument("--lines", type=int, default=100_000, metavar="N", help="at least (%(default)s)")
    parser.add_argument("--sessions", type=int, default=1000, metavar="N", help="at least (%(default)s)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the first game (a random one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
