"""The audit log shows every row that was changed, removed or reordered."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from culture.errors import UnavailableError
from culture.store.agent.file import FILE, AgentFile


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AgentFile]:
    file = AgentFile(tmp_path)
    with file.at_once():
        for number in range(4):
            file.audit.append(1000 + number, "asked", f"q{number}", {"text": f"question {number}"})
    yield file
    file.close()


def tamper(tmp_path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("DROP TRIGGER audit_is_not_deleted")
        for statement in statements:
            connection.execute(statement)


def test_an_intact_log_has_no_problems(file):
    assert file.audit.problems() == []
    assert [row.question for row in file.audit.rows()] == ["q0", "q1", "q2", "q3"]


def test_an_empty_log_is_intact(tmp_path):
    file = AgentFile(tmp_path)
    assert file.audit.problems() == []
    file.close()


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE audit SET details = '{}' WHERE number = 2"], "row 2 was changed"),
        (["UPDATE audit SET at_ms = 1 WHERE number = 1"], "row 1 was changed"),
        (["UPDATE audit SET hash = previous WHERE number = 3"], "row 3 was changed"),
        (["DELETE FROM audit WHERE number = 2"], "rows 2 to 2 are missing"),
        (["DELETE FROM audit WHERE number = 1"], "rows 1 to 1 are missing"),
        (["DELETE FROM audit WHERE number = 4"], "the last row is 3, but row 4 was written last"),
        (["DELETE FROM audit"], "the last row is 0, but row 4 was written last"),
        (
            ["DELETE FROM audit WHERE number = 2", "UPDATE audit SET number = 2 WHERE number = 3"],
            "row 2 does not follow row 1",
        ),
        (
            [
                "UPDATE audit SET number = 9 WHERE number = 2",
                "UPDATE audit SET number = 2 WHERE number = 3",
                "UPDATE audit SET number = 3 WHERE number = 9",
            ],
            "row 2 does not follow row 1",
        ),
        (
            [
                "INSERT INTO audit SELECT 5, at_ms, event, question, details, hash, hash FROM audit "
                "WHERE number = 4"
            ],
            "row 5 was changed",
        ),
    ],
)
def test_every_manipulation_is_found(file, tmp_path, statements, problem):
    tamper(tmp_path, *statements)

    assert problem in file.audit.problems()


@pytest.mark.parametrize("statement", ["UPDATE audit SET event = 'x'", "DELETE FROM audit"])
def test_rows_cannot_be_changed_by_mistake(file, statement):
    def change() -> None:
        with file.at_once():
            file._connection.execute(statement)

    refused: Callable[[], None] = change
    with pytest.raises(UnavailableError, match="append-only"):
        refused()
