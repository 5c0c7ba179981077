"""Plays weekends one after the other; a seed whose weekend goes wrong is kept for the tests."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from support.weekend.weekend import play_weekend

TOLD_EVERY_S = 60.0
KEPT = Path(__file__).parents[2] / "agent" / "seeds"


def main() -> int:
    parser = argparse.ArgumentParser(prog="weekend", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="how many (default 20)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first one; each weekend has the next (default 0)"
    )
    options = parser.parse_args()
    told_at = time.monotonic()
    totals: Counter[str] = Counter()
    failed = 0
    for number in range(options.count):
        outcome = play_weekend(options.seed + number)
        totals.update(turns=outcome.turns, kills=outcome.kills, questions=outcome.questions)
        if outcome.failures:
            failed += 1
            path = KEPT / f"{outcome.seed}.txt"
            path.write_text("\n".join(outcome.failures) + "\n")
            print(f"seed {outcome.seed}, kept as {path}:", *outcome.failures, sep="\n  ", flush=True)
        if time.monotonic() - told_at >= TOLD_EVERY_S:
            told_at = time.monotonic()
            print(f"{number + 1} weekends so far, {failed} went wrong", file=sys.stderr, flush=True)
    last = options.seed + options.count - 1
    print(
        f"{options.count} weekends, seeds {options.seed} to {last}: {failed} went wrong; "
        f"{totals['turns']} turns, {totals['kills']} killed agents, {totals['questions']} questions"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
