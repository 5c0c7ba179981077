"""Print the results of verbs: data on standard output, notes for people on standard error."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from culture.commandline import columns

Row = dict[str, Any]


def show(lines: Iterable[str]) -> None:
    """Print lines of data."""
    for line in lines:
        print(line)


def show_rows(
    options: argparse.Namespace,
    head: Sequence[str],
    rows: Sequence[Row],
    cells: Callable[[Row], Sequence[str]],
    *,
    is_cut: bool = False,
) -> None:
    """Print rows as a table, or with --json as one object per line."""
    if options.json:
        show_json(rows)
    else:
        show_table(head, map(cells, rows), is_cut=is_cut)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, is_cut: bool = False) -> None:
    """Print a table. With `is_cut`, lines are truncated to the width of the terminal."""
    lines = columns([head, *rows])
    width = os.get_terminal_size().columns if is_cut and sys.stdout.isatty() else 0
    show(f"{line[: width - 1]}…" if 0 < width < len(line) else line for line in lines)


def labelled(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Align labels and texts at the colon between them, as systemctl status does."""
    pairs = list(rows)
    width = max(len(label) for label, _ in pairs)
    return [f"{label:>{width}}: {text}" for label, text in pairs]


def show_json(rows: Iterable[Row]) -> None:
    """Print one JSON object per line."""
    # Imported here, because most calls print no JSON.
    import json

    for row in rows:
        show_utf8(json.dumps(row, ensure_ascii=False))


def show_utf8(line: str) -> None:
    """Print a line as UTF-8 whatever the locale is: JSON is always UTF-8 (RFC 8259 section 8.1)."""
    sys.stdout.buffer.write(f"{line}\n".encode())


def note(options: argparse.Namespace, text: str) -> None:
    """Print a note for people on standard error, unless --quiet is given."""
    if not options.quiet:
        print(text, file=sys.stderr)


def ask(question: str) -> None:
    """Print a question without a line end, to standard error: standard output is data."""
    print(question, end="", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print on standard error that part of the work failed, also with --quiet."""
    print(text, file=sys.stderr)
