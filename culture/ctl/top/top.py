"""`culturectl top`: show agents, open questions and links as a live screen, or once as a table."""

import argparse
import os
import time
from collections.abc import Iterator

from culture.config import paths
from culture.ctl import output
from culture.ctl.agents import elapsed
from culture.ctl.options import add_agents_config, add_json
from culture.ctl.top.collect import Collector
from culture.ctl.top.model import AgentRow, Snapshot
from culture.protocol.plain_text import neutral

HEAD = ("GROUP", "NAME", "STATE", "SINCE", "QUEUE", "FULL", "TODAY", "DOING")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--once", action="store_true", help="Print one table and exit, as in a pipe")
    add_json(parser)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    agents_file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    collector = Collector(agents_file, paths.config_file("ircd.yaml", os.environ).absolute())
    if options.once or options.json or not _is_live():
        _show_once(options, collector.snapshot())
        return 0
    # Imported here, because a table does not need curses.
    from culture.ctl.top import screen

    # A wrong agents.yaml is reported before the screen is cleared.
    collector.load()
    screen.show(collector)
    return 0


def _is_live() -> bool:
    if not os.isatty(1):
        return False
    # Imported here, because output to a pipe does not need curses.
    from culture.ctl.top import screen

    return screen.is_capable_terminal()


def _show_once(options: argparse.Namespace, snapshot: Snapshot) -> None:
    for problem in snapshot.problems:
        output.warn(f"culturectl: {neutral(problem)}")
    if options.json:
        output.show_json(snapshot.as_json())
    elif snapshot.agents or snapshot.links:
        output.show_table(HEAD, _table(snapshot), is_cut=True)
    else:
        output.note(options, "agents.yaml has no agents")


def _table(snapshot: Snapshot) -> Iterator[list[str]]:
    """Yield the cells of each agent, the most urgent first, and of each link."""
    for agent in snapshot.agents:
        since = elapsed(agent.since, time.time())
        queue = "-" if agent.queue is None else str(agent.queue)
        full = "-" if agent.context is None else f"{agent.context:.0%}"
        today = "-" if agent.cost_usd_today is None else f"{agent.cost_usd_today:.2f} USD"
        doing = neutral(" ".join(_doing(snapshot, agent).split()))
        yield [agent.group, agent.nick, agent.state, since, queue, full, today, doing]
    for link in snapshot.links:
        lag = f"lag {link.lag_ms} ms" if link.lag_ms is not None else "-"
        yield ["link", neutral(link.host), link.state, *["-"] * 4, lag]


def _doing(snapshot: Snapshot, agent: AgentRow) -> str:
    """Return what an agent asks, or what it does."""
    question = snapshot.question(agent.questions[0]) if agent.questions else None
    if question is None:
        return agent.doing
    answers = "/".join(question.options) or "text"
    more = f" (and {len(agent.questions) - 1} more)" if len(agent.questions) > 1 else ""
    return f"{question.id}: {question.text} [{answers}]{more}"
