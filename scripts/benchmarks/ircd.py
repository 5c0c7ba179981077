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

from peers import AS_SHIPPED, OURS, PEERS, WITH_HISTORY, Running, Server, fetched, on_core, running

SOURCES = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".c", ".h"))
SET_UP_S = 150.0
OUR_NAME = "culture"
BUSY = 0.9


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    arguments: tuple[str, ...]
    # Keys of the generator's answer, and their units.
    figures: tuple[tuple[str, str], ...] = (("per_s", "deliveries/s"),)
    # With our limits as they are by default, since they are what protects others.
    as_shipped: bool = False
    # In each round. A fraction of a millisecond is soon disturbed by whatever else the machine does.
    times: int = 1


CHANNELS = ("channels", "--channels", "200", "--members", "10")
PAIRS = ("pairs", "--pairs", "500")
TALK = ("latency", "--channels", "10", "--members", "11", "--rate", "1000")
PERCENTILES = (("p50_ms", "ms, p50"), ("p99_ms", "ms, p99"))

SCENARIOS = {
    "fanout": Scenario("fan-out 1:100, one at a time", ("fanout", "--receivers", "100")),
    "fanout-pipelined": Scenario(
        "fan-out 1:100, pipelined", ("fanout", "--receivers", "100", "--window", "256")
    ),
    "fanout-1000": Scenario("fan-out 1:1000", ("fanout", "--receivers", "1000", "--window", "256")),
    "channels": Scenario("200 channels of 10, one each", CHANNELS),
    "channels-few": Scenario("200 channels of 10, 4 each", (*CHANNELS, "--window", "4")),
    "pairs": Scenario("500 pairs, one each", PAIRS),
    "pairs-few": Scenario("500 pairs, 4 each", (*PAIRS, "--window", "4"), times=2),
    "latency": Scenario("1000 messages/s to 10 each", TALK, PERCENTILES, times=5),
    "attack-stalled": Scenario("  one stops reading", (*TALK, "--stalled", "1"), PERCENTILES, True),
    "attack-silent": Scenario("  1000 come and are silent", (*TALK, "--silent", "1000"), PERCENTILES, True),
    "attack-flood": Scenario("  one floods", (*TALK, "--flooders", "1"), PERCENTILES, True),
    "attack-joins": Scenario("  3 join 100 banned channels", (*TALK, "--joiners", "3"), PERCENTILES, True),
    "attack-lists": Scenario("  3 list everything", (*TALK, "--listers", "3"), PERCENTILES, True),
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
    parser.add_argument("--history", action="store_true", help="also this server with its history on")
    fetch = "take missing peers from the package archive, without installing them; as root"
    parser.add_argument("--fetch", action="store_true", help=fetch)
    # A server is faster or slower by how its core and the generator's fell into step: that differs between
    # its starts, and hardly while it runs.
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="how often (5)")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S", help="how long each (1)")


def measure(options: argparse.Namespace) -> dict:
    prepare()
    server_core, generator_core = cores()
    generator = on_core(generator_core, [str(compiled())])
    runs: dict = defaultdict(lambda: defaultdict(list))
    with _servers(options) as servers:
        names = [each for each in options.only or SCENARIOS for _ in range(SCENARIOS[each].times)]
        for _ in range(options.repeat):
            for name in names:
                scenario = SCENARIOS[name]
                for who, server in servers.items():
                    started = AS_SHIPPED if server is OURS and scenario.as_shipped else server
                    with running(started, server_core) as target:
                        runs[name][who].append(_loaded(generator, scenario, target, options.seconds))
    return {
        "repeat": options.repeat,
        "seconds": options.seconds,
        "cores": {"server": server_core, "generator": generator_core},
        "scenarios": {name: _summary(SCENARIOS[name], of_each) for name, of_each in runs.items()},
    }


def prepare() -> None:
    """For many connections, and for being told to end at any time."""
    # That is a way out through every `finally`, which waits for what it ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def compiled() -> Path:
    """The generator, made once for each version of its source."""
    source = b"".join(path.read_bytes() for path in SOURCES)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "culture"
    program = cache / f"load-{hashlib.sha256(source).hexdigest()[:16]}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # Under its name only when it is whole: two runs may want it at the same time.
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            made = Path(directory) / "load"
            try:
                units = [path for path in SOURCES if path.suffix == ".c"]
                subprocess.run(["gcc", "-O2", "-Wall", "-o", made, *units], check=True)
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
        if options.history:
            servers["with history"] = WITH_HISTORY
        for name in wanted:
            if PEERS[name].is_installed:
                servers[name] = PEERS[name]
            elif options.fetch:
                servers[name] = unpacked.enter_context(fetched(PEERS[name]))
            else:
                hint = f"apt install {name}, or scripts/bench ircd --fetch"
                print(f"'{name}' is not installed: left out\nhint: {hint}", file=sys.stderr)
        yield servers


def cores() -> tuple[int, int]:
    """For the server and for the generator."""
    ours = sorted(os.sched_getaffinity(0))
    if len(ours) == 1:
        print("one core for both: the figures say little", file=sys.stderr)
    return ours[0], ours[-1]


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
    figure = {"median": middle, "spread": round(spread, 3), "runs": values}
    # Paced, it never sleeps: what it did not get somebody else had, and it saw late what came in time.
    busy = min((run["generator_busy"] for run in runs if "p99_ms" in run), default=1.0)
    return figure if busy >= BUSY else {**figure, "starved": busy}


def in_words(figures: dict) -> str:
    """A row for each figure: every server's median, its spread, and how ours compares with it."""
    lines, notes = [], []
    for scenario in figures["scenarios"].values():
        for figure in scenario["figures"].values():
            servers = figure["servers"]
            if not lines:
                lines.append(" " * 44 + "".join(f"{who:>24}" for who in servers))
            ours = servers[OUR_NAME].get("median")
            row = "".join(f"{_cell(who, each, ours):>24}" for who, each in servers.items())
            lines.append(f"{scenario['title']:30}{figure['unit']:>14}{row}")
            notes += [
                f"{scenario['title'].strip()}: {who}: {note}"
                for who, each in servers.items()
                if (note := _note(each)) is not None
            ]
    repeat = figures["repeat"]
    lines.append(f"median of {repeat} ±spread (largest less smallest), and ours as a multiple of it")
    for name in figures["scenarios"]:
        if SCENARIOS[name].times > 1:
            lines.append(f"{SCENARIOS[name].title}: median of {repeat * SCENARIOS[name].times}")
    return "\n".join(lines + list(dict.fromkeys(notes)))


def _note(figure: dict) -> str | None:
    if "starved" in figure:
        return f"the generator had only {figure['starved']:.0%} of its core, so that its times say little"
    return figure.get("error")


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
