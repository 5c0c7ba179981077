"""`culturectl cost`: show what the agents of this host used and what it cost."""

import argparse
import os
from collections.abc import Sequence
from datetime import date
from typing import Any, Final, get_args

from culture.agent.ledger.reading import read_shares
from culture.config import paths
from culture.ctl import output
from culture.ctl.options import add_agents_config, add_json
from culture.errors import UsageError
from culture.protocol.plain_text import neutral
from culture.store.ledger.records import By, Share, usd

_BAR_WIDTH: Final = 20
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument(
        "--by", choices=get_args(By), default="agent", help="What to add up by (default: agent)"
    )
    parser.add_argument("--since", metavar="DATE", default="", help="Leave out earlier days, as 2026-11-18")
    add_json(parser)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    _check_day(options.since)
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    shares = read_shares(
        options.by, options.since, os.environ, is_installation=file.parent == paths.SYSTEM_CONFIG
    )
    if options.json:
        output.show_json([_row(options.by, share) for share in shares])
    elif shares:
        head = (options.by.upper(), "TURNS", "OTHER", "INPUT", "CACHED", "OUTPUT", "RUNNING", "USD", "")
        output.show_table(head, _lines(shares))
    else:
        output.note(options, "nothing was spent yet")
    return 0


def _check_day(day: str) -> None:
    try:
        if day:
            date.fromisoformat(day)
    except ValueError:
        raise UsageError(f"'{day}' is not a day", hint="culturectl cost --since 2026-11-18") from None


def _row(by: By, share: Share) -> dict[str, Any]:
    figures = share._asdict()
    return {
        by: figures.pop("name"),
        **figures,
        "cost": usd(share.cost),
        "held": usd(share.held),
    }


def _lines(shares: Sequence[Share]) -> list[list[str]]:
    largest = max(share.cost for share in shares)
    rows = [[*_cells(share), bar(share.cost, largest)] for share in shares]
    return [*rows, [*_cells(total(shares)), ""]]


def total(shares: Sequence[Share]) -> Share:
    """Return the sum of rows. Costs are whole micro-dollars, so it is exact."""
    _, *columns = zip(*shares, strict=True)
    return Share("total", *map(sum, columns))


def _cells(share: Share) -> list[str]:
    counts = (share.turns, share.others, share.input_tokens, share.cached_tokens, share.output_tokens)
    running = f"{usd(share.held):.2f}" if share.held else "-"
    return [neutral(share.name) or "-", *map(str, counts), running, f"{usd(share.cost):.6f}"]


def bar(amount: int, largest: int) -> str:
    """Return a bar of at most 20 characters, in steps of an eighth of a character."""
    eighths = round(amount / largest * _BAR_WIDTH * 8) if largest else 0
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * whole + (_EIGHTHS[rest] if rest else "")
