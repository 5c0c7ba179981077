"""One module of culturectl prints, so that options such as --json and --quiet mean the same for all verbs."""

import argparse
import ast
from pathlib import Path

import pytest

from culture.ctl import output

CTL = Path(output.__file__).parent
QUIET = argparse.Namespace(quiet=True, json=False)
TALKATIVE = argparse.Namespace(quiet=False, json=True)


def printing(path: Path) -> list[int]:
    """The lines on which a module prints, or writes to a standard stream."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    written = ("print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write")
    return [call.lineno for call in calls if ast.unparse(call.func) in written]


@pytest.mark.parametrize("module", sorted(str(path.relative_to(CTL)) for path in CTL.rglob("*.py")))
def test_only_one_module_prints(module: str):
    assert printing(CTL / module) == [] or module == "output.py"


def test_a_note_goes_to_people_unless_they_want_quiet(capsys: pytest.CaptureFixture[str]):
    output.note(QUIET, "nothing was changed")
    output.note(TALKATIVE, "something was changed")
    output.warn("half of it failed")

    assert capsys.readouterr() == ("", "something was changed\nhalf of it failed\n")


def test_rows_are_a_table_for_people_and_objects_for_programs(capsys: pytest.CaptureFixture[str]):
    rows = [{"nick": "spark-ori", "turns": 3}, {"nick": "é", "turns": 12}]
    for options in (QUIET, TALKATIVE):
        output.show_rows(options, ("NICK", "TURNS"), rows, lambda row: [row["nick"], str(row["turns"])])

    assert capsys.readouterr().out == (
        "NICK       TURNS\n"
        "spark-ori  3\n"
        "é          12\n"
        '{"nick": "spark-ori", "turns": 3}\n'
        '{"nick": "é", "turns": 12}\n'
    )
