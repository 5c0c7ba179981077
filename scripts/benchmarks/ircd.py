"""How fast culture-ircd is, beside the IRC servers of others, in one run on this machine.

One core for the server, another for the generator; a fresh server for every figure; servers in turns, so that
what else the machine does hits all of them. Only ratios from one run mean anything.
"""

import argparse
import contextlib
import hashlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers import OURS, PEERS, Running, Server, fetched, on_core, running

SOURCE = Path(__file__).with_name("load.c")
SET_UP_S = 150.0
OUR_NAME = "culture"


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    arguments: tuple[str, ...]
    figures: tuple[tuple[str, str], ...] = (("per_s", "deliveries/s"),)
    """Keys of the generator's answer, and their units."""


SCENARIOS = {
    "fanout": Scenario("fan-out 1:100, one at a time", ("fanout", "--receivers", "100")),
    "fanout-pipelined": Scenario(
        "fan-out 1:100, pipelined", ("fanout", "--receivers", "100", "--window", "256")
    ),
    "fanout-1000": Scenario("fan-out 1:1000", ("fanout", "--receivers", "1000", "--window", "256")),
    "channels": Scenario("200 channels of 10", ("channels", "--channels", "200", "--members", "10")),
    "pairs": Scenario("500 pairs", ("pairs", "--pairs", "500")),
    "latency": Scenario(
        "1000 messages/s to 10 each",
        ("latency", "--channels", "10", "--members", "11", "--rate", "1000"),
        (("p50_ms", "ms, p50"), ("p99_ms", "ms, p99")),
    ),
    "connect": Scenario(
        "1000 clients connect",
        ("connect", "--clients", "1000"),
        (("per_s", "clients/s"), ("client_bytes", "bytes each"), ("idle_kb", "kB before")),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", choices=SCENARIOS, action="append", help="this scenario; more than once: these"
    )
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAMES", help="%(default)s, or none")
    fetch = "take missing peers from the package archive, without installing them; as root"
    parser.add_argument("--fetch", action="store_true", help=fetch)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="how often (3)")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="how long each (2)")


def measure(options: argparse.Namespace) -> dict:
    # Being told to end is a way out through every `finally`, which waits for what it ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server_core, generator_core = _cores()
    generator = on_core(generator_core, [str(compiled())])
    runs: dict = defaultdict(lambda: defaultdict(list))
    with _servers(options) as servers:
        for _ in range(options.repeat):
            for name in options.only or SCENARIOS:
                for who, server in servers.items():
                    with running(server, server_core) as target:
                        runs[name][who].append(_loaded(generator, SCENARIOS[name], target, options.seconds))
    return {
        "repeat": options.repeat,
        "seconds": options.seconds,
        "cores": {"server": server_core, "generator": generator_core},
        "scenarios": {name: _summary(SCENARIOS[name], of_each) for name, of_each in runs.items()},
    }


def compiled() -> Path:
    """The generator, made once for each version of its source."""
    source = SOURCE.read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "culture"
    program = cache / f"load-{hashlib.sha256(source).hexdigest()[:16]}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # Under its name only when it is whole: two runs may want it at the same time.
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            made = Path(directory) / "load"
            try:
                subprocess.run(["gcc", "-O2", "-Wall", "-o", made, SOURCE], check=True)
            except FileNotFoundError:
                sys.exit("scripts/bench: no C compiler\nhint: apt install gcc libc6-dev")
            made.rename(program)
    return program


@contextlib.contextmanager
def _servers(options: argparse.Namespace) -> Iterator[dict[str, Server]]:
    wanted = [] if options.peers == "none" else options.peers.split(",")
    if unknown := set(wanted) - set(PEERS):
        sys.exit(f"scripts/bench: unknown peer '{min(unknown)}'\nhint: known: {', '.join(PEERS)}, none")
    with contextlib.ExitStack() as unpacked:
        servers = {OUR_NAME: OURS}
        for name in wanted:
            if PEERS[name].is_installed:
                servers[name] = PEERS[name]
            elif options.fetch:
                servers[name] = unpacked.enter_context(fetched(PEERS[name]))
            else:
                hint = f"apt install {name}, or scripts/bench ircd --fetch"
                print(f"'{name}' is not installed: left out\nhint: {hint}", file=sys.stderr)
        yield servers


def _cores() -> tuple[int, int]:
    """For the server and for the generator."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        print("one core for both: the figures say little", file=sys.stderr)
    return cores[0], cores[-1]


def _loaded(generator: list[str], scenario: Scenario, target: Running, seconds: float) -> dict:
    where = ("--port", str(target.port), "--pid", str(target.pid), "--opening", str(target.at_once))
    try:
        done = subprocess.run(
            [*generator, *scenario.arguments, *where, "--seconds", str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            timeout=SET_UP_S + 2 * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": "the generator did not end"}
    return json.loads(done.stdout) if done.stdout else {"error": f"the generator: status {done.returncode}"}


def _summary(scenario: Scenario, of_each: dict[str, list[dict]]) -> dict:
    figures = {}
    for key, unit in scenario.figures:
        figures[key] = {"unit": unit, "servers": {who: _figure(runs, key) for who, runs in of_each.items()}}
    return {"title": scenario.title, "figures": figures}


def _figure(runs: list[dict], key: str) -> dict:
    """One run that failed fails the figure: a server that loses messages has no speed."""
    for run in runs:
        if "error" in run:
            return {"error": run["error"]}
    values = [run[key] for run in runs]
    middle = statistics.median(values)
    spread = (max(values) - min(values)) / middle if middle else 0.0
    return {"median": middle, "spread": round(spread, 3), "runs": values}


def in_words(figures: dict) -> str:
    """A row for each figure: every server's median, its spread, and how ours compares with it."""
    lines, failures = [], []
    for scenario in figures["scenarios"].values():
        for figure in scenario["figures"].values():
            servers = figure["servers"]
            if not lines:
                lines.append(" " * 44 + "".join(f"{who:>24}" for who in servers))
            ours = servers[OUR_NAME].get("median")
            row = "".join(f"{_cell(who, each, ours):>24}" for who, each in servers.items())
            lines.append(f"{scenario['title']:30}{figure['unit']:>14}{row}")
            failures += [
                f"{scenario['title']}: {who}: {each['error']}"
                for who, each in servers.items()
                if "error" in each
            ]
    lines.append(
        f"median of {figures['repeat']} ±spread (largest less smallest), and ours as a multiple of it"
    )
    return "\n".join(lines + list(dict.fromkeys(failures)))


def _cell(who: str, figure: dict, ours: float | None) -> str:
    if "error" in figure:
        return "failed"
    middle = figure["median"]
    text = f"{_short(middle)} ±{figure['spread']:.0%}"
    return text if who == OUR_NAME or not ours or not middle else f"{text} x{ours / middle:.2f}"


def _short(value: float) -> str:
    for limit, unit in ((1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / limit * (1 if unit == 'M' else 10):.1f}{unit}"
    return f"{value:.3f}" if value < 10 else f"{value:.0f}"
