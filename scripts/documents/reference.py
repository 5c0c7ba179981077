"""scripts/reference: write the tables of the IRC reference from the server's own tables.

Commands are explained in the manual that HELP reads, numerics and capabilities in the comments above them.
"""

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import dropwhile, takewhile
from pathlib import Path
from types import ModuleType

from culture.ircd.commands.server.manual import MANUAL, HelpEntry
from culture.protocol import capabilities, numerics

PAGE = Path(__file__).parents[2] / "docs/reference/irc.md"

Row = tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/reference", description="Write the tables of irc.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if there is a difference")
    options = parser.parse_args()
    page = PAGE.read_text()
    written = with_tables(page)
    if options.check and written != page:
        print(
            "docs/reference/irc.md differs from the server's tables\nhint: scripts/reference", file=sys.stderr
        )
        return 1
    if not options.check:
        PAGE.write_text(written)
    return 0


def with_tables(page: str) -> str:
    """Return the page with the first table of each section replaced; the rest is written by hand."""
    for section, rows in TABLES.items():
        before, title, behind = page.partition(f"\n## {section}\n\n")
        if not behind.startswith("|"):
            sys.exit(f"scripts/reference: the section '{section}' of {PAGE} does not begin with a table")
        rest = dropwhile(lambda line: line.startswith("|"), behind.splitlines(keepends=True))
        page = "".join([before, title, _table(rows()), *rest])
    return page


def _table(rows: Iterable[Row]) -> str:
    head, *body = (_line(row) for row in rows)
    return "".join([head, "|---" * (head.count("|") - 1) + "|\n", *body])


def _line(row: Row) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in row) + "\n"


def _commands() -> Iterator[Row]:
    yield "command", "parameters", ""
    for name, entry in sorted(MANUAL.items()):
        yield f"`{name}`", _forms(entry), f"{entry.purpose} {entry.details}".strip()


def _forms(entry: HelpEntry) -> str:
    return ", ".join(f"`{form}`" for form in entry.forms.split(" | ") if form)


def _capabilities() -> Iterator[Row]:
    yield "capability", ""
    for _, name, text in sorted(_explained(capabilities), key=lambda row: row[1]):
        yield f"`{name}`", text


def _numerics() -> Iterator[Row]:
    yield "code", "name", "when"
    for name, code, text in sorted(_explained(numerics), key=lambda row: row[1]):
        yield f"`{code}`", name, text


def _explained(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value and the explanation of each string constant of a module and its classes."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    for body in _bodies(ast.parse(source)):
        for statement in body:
            match statement:
                case (
                    ast.AnnAssign(target=ast.Name(name), value=ast.Constant(str(value)))
                    | ast.Assign(targets=[ast.Name(name)], value=ast.Constant(str(value)))
                ):
                    yield name, value, _comment_above(name, lines[: statement.lineno - 1])


def _bodies(tree: ast.Module) -> Iterable[list[ast.stmt]]:
    return [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]


def _comment_above(name: str, lines: list[str]) -> str:
    """Return the comment that ends at the last of these lines, as one line of text."""
    comment = list(takewhile(lambda line: line.startswith("#"), map(str.strip, reversed(lines))))
    if not comment:
        sys.exit(f"scripts/reference: '{name}' is not explained\nhint: say in a comment above it what it is")
    return " ".join(line.removeprefix("#").strip() for line in reversed(comment))


TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "Commands": _commands,
    "Capabilities": _capabilities,
    "Numerics": _numerics,
}


if __name__ == "__main__":
    sys.exit(main())
