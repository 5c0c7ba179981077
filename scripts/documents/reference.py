"""scripts/reference: the tables of the IRC reference, from what the server itself goes by.

Commands are explained in the manual that HELP reads; numerics and capabilities by the words below them.
"""

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import dropwhile
from pathlib import Path
from types import ModuleType

from culture.ircd.commands.manual import MANUAL, Entry
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
        print("docs/reference/irc.md is not as the server has it\nhint: scripts/reference", file=sys.stderr)
        return 1
    if not options.check:
        PAGE.write_text(written)
    return 0


def with_tables(page: str) -> str:
    """The first table of each section is made anew; the rest of the page is written by hand."""
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


def _forms(entry: Entry) -> str:
    return ", ".join(f"`{form}`" for form in entry.forms.split(" | ") if form)


def _capabilities() -> Iterator[Row]:
    yield "capability", ""
    for _, name, words in sorted(_explained(capabilities), key=lambda row: row[1]):
        yield f"`{name}`", words


def _numerics() -> Iterator[Row]:
    yield "code", "name", "when"
    for name, code, words in sorted(_explained(numerics), key=lambda row: row[1]):
        yield f"`{code}`", name, words


def _explained(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    """Names, their values, and the words below them."""
    for body in _bodies(ast.parse(inspect.getsource(module))):
        for statement, below in zip(body, [*body[1:], None], strict=True):
            match statement:
                case (
                    ast.AnnAssign(target=ast.Name(name), value=ast.Constant(str(value)))
                    | ast.Assign(targets=[ast.Name(name)], value=ast.Constant(str(value)))
                ):
                    yield name, value, _words(name, below)


def _bodies(tree: ast.Module) -> Iterable[list[ast.stmt]]:
    return [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]


def _words(name: str, below: ast.stmt | None) -> str:
    match below:
        case ast.Expr(ast.Constant(str(words))):
            return " ".join(words.split())
    sys.exit(f"scripts/reference: '{name}' is not explained\nhint: say below it, in three quotes, what it is")


TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "Commands": _commands,
    "Capabilities": _capabilities,
    "Numerics": _numerics,
}


if __name__ == "__main__":
    sys.exit(main())
