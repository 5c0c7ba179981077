"""scripts/reference: tables are made anew, and what stands around them is left alone."""

import subprocess
import sys
from pathlib import Path

DOCUMENTS = Path(__file__).parents[2] / "scripts/documents"
PAGE = """\
# A page

## Commands

| command |
|---|
| `OLD` |

Words.

## Capabilities

| capability |

## Numerics

| code |
"""


def made_of(page: str) -> str:
    program = "import reference, sys; sys.stdout.write(reference.with_tables(sys.stdin.read()))"
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=DOCUMENTS, input=page, capture_output=True, text=True, timeout=20, check=True
    ).stdout


def test_tables_are_made_anew_and_the_rest_stays():
    page = made_of(PAGE)

    assert "OLD" not in page
    assert "\n| command | parameters | |\n|---|---|---|\n| `ADMIN` | `[server]` | Shows who runs" in page
    assert "\n| `CAP` | `LS [302]`, `LIST`, `REQ :caps`, `END` | Negotiates" in page
    assert "|\n\nWords.\n\n## Capabilities\n\n| capability | |\n|---|---|\n| `account-notify` | " in page
    assert "\n| `001` | RPL_WELCOME | Registration: the first line of the welcome. |\n" in page


def test_making_it_twice_changes_nothing():
    page = made_of(PAGE)

    assert made_of(page) == page
