"""scripts/soak: hours of people coming and going. Every line arrives, in order, and memory stays flat."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ircd import compiled, cores, prepare
from peers import AS_SHIPPED, Running, on_core, running

SAMPLE_S = 1.0
TELL_EVERY = 10
# The part of the time that a server may take to get as large as it will be.
WARM_UP = 0.5
GROWTH = 0.03
# Whichever is more, from the end of the warm-up: what is not growth but how memory is handed out.
GROWTH_KB = 4096


def main() -> int:
    options = _parser().parse_args()
    if options.clients < 2 * options.channels:
        sys.exit("scripts/soak: a channel needs two clients\nhint: --clients 5000 --channels 500")
    prepare()
    server_core, generator_core = cores()
    generator = on_core(generator_core, [str(compiled())])
    with running(AS_SHIPPED, server_core) as target:
        told, resident_kb = _soak(generator, target, options)
    print(f"failed: {told['error']}" if "error" in told else _in_words(told))
    print(_memory_in_words(resident_kb))
    return int("error" in told or not is_flat(resident_kb))


def _soak(generator: list[str], target: Running, options: argparse.Namespace) -> tuple[dict, list[int]]:
    members = options.clients // options.channels
    talk = ("channels", "--channels", str(options.channels), "--members", str(members))
    others = ("--visitors", str(options.visitors), "--seconds", str(options.minutes * 60))
    where = ("--port", str(target.port), "--opening", str(target.at_once))
    with subprocess.Popen([*generator, *talk, *others, *where], stdout=subprocess.PIPE, text=True) as process:
        try:
            samples = _watch(process, target.pid)
            assert process.stdout is not None
            answer = process.stdout.read()
        finally:
            process.kill()
    return json.loads(answer) if answer else {"error": f"the generator: status {process.returncode}"}, samples


def _watch(process: subprocess.Popen[str], pid: int) -> list[int]:
    samples, began = list[int](), time.monotonic()
    while True:
        try:
            process.wait(SAMPLE_S)
        except subprocess.TimeoutExpired:
            samples.append(_resident_kb(pid))
            if len(samples) % TELL_EVERY == 0:
                print(f"{time.monotonic() - began:6.0f} s {samples[-1] / 1024:8.1f} MB", flush=True)
        else:
            return samples


def _resident_kb(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def growth_kb(samples: Sequence[int]) -> float:
    """Along the straight line that fits best, since the warm-up."""
    settled = samples[int(len(samples) * WARM_UP) :]
    if len(settled) < 2:
        return 0.0
    return statistics.linear_regression(range(len(settled)), settled).slope * (len(settled) - 1)


def is_flat(samples: Sequence[int]) -> bool:
    return growth_kb(samples) <= max(GROWTH * max(samples, default=0), GROWTH_KB)


def _in_words(told: dict) -> str:
    return (
        f"{told['messages']} messages, {told['deliveries']} deliveries: none is missing"
        f"\n{told['visits']} visits; of those who stopped reading {told['cut_off']} were let go of"
    )


def _memory_in_words(samples: Sequence[int]) -> str:
    verdict = "flat" if is_flat(samples) else "growing"
    most = max(samples, default=0) / 1024
    return f"memory: {most:.1f} MB at most, {growth_kb(samples) / 1024:+.1f} MB since the warm-up: {verdict}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__.partition(": ")[2])
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="how long (10)")
    parser.add_argument("--clients", type=int, default=5000, metavar="N", help="who stay (5000)")
    parser.add_argument("--channels", type=int, default=500, metavar="N", help="that they are in (500)")
    parser.add_argument("--visitors", type=int, default=50, metavar="N", help="who come and go (50)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
