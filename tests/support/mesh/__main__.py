"""Simulates meshes until the time is over or one does not heal; it is then kept for the tests."""

import argparse
import sys
import time
from pathlib import Path

from support.mesh.hostile import hostile_failure
from support.mesh.schedule import make_schedule
from support.mesh.simulation import HOSTS, failure, shrink

TOLD_EVERY_S = 60.0
HOSTILE = "hostile"
KEPT = Path(__file__).parents[2] / "federation" / "schedules"


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--schedules", type=int, default=0, help="how many at most (default: no limit)")
    parser.add_argument(
        "--seed", type=int, default=0, help="the first one; each schedule has the next (default 0)"
    )
    parser.add_argument(
        "--hosts", choices=[HOSTILE, *sorted(HOSTS)], default="server", help="what they are (default server)"
    )
    options = parser.parse_args()
    now = told_at = time.monotonic()
    end = now + options.minutes * 60
    seed = options.seed
    while (now := time.monotonic()) < end and not 0 < options.schedules <= seed - options.seed:
        if now - told_at >= TOLD_EVERY_S:
            told_at = now
            print(f"{seed - options.seed} schedules healed so far", file=sys.stderr, flush=True)
        if options.hosts == HOSTILE:
            if wrong := hostile_failure(seed):
                print(f"{wrong}\nseed {seed}: an honest host suffers from a liar")
                return 1
            seed += 1
            continue
        schedule = make_schedule(seed)
        if failure(schedule, options.hosts):
            short = shrink(schedule, options.hosts)
            path = KEPT / f"{options.hosts}-{seed}.txt"
            path.write_text(f"{short}\n")
            print(f"{short}\n{failure(short, options.hosts)}\nseed {seed} does not heal; kept as {path}")
            return 1
        seed += 1
    print(
        f"{seed - options.seed} schedules healed, seeds {options.seed} to {seed - 1}, hosts: {options.hosts}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
