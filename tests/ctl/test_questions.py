"""`culturectl questions`, `answer` and `audit`, with agents that run and agents that do not."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from culture.agent.questions.records import QuestionRecords
from culture.ctl.main import run
from culture.errors import NoInputError, UsageError
from culture.store.agent.file import FILE, AgentFile
from culture.store.agent.questions import NewQuestion, QuestionKind, QuestionState

NEW = NewQuestion(
    QuestionKind.PERMISSION,
    "May I run this command? rm -rf build [y/N]",
    "#ops",
    ("yes", "no", "abort"),
    '{"command": "rm -rf build", "tool": "Bash"}',
    task="tidy up",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two agents, one of which asked two questions and does not run."""
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}, {nick: spark-codex}]\n")
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    file = AgentFile(state(tmp_path))
    records = QuestionRecords(file, "spark-claude", lambda: 1_700_000_000_000)
    records.add(NEW, lambda: "qabc", is_waiting=True)
    records.add(
        NEW._replace(kind=QuestionKind.ASK, text="which disk?", options=()), lambda: "qxyz", is_waiting=False
    )
    file.close()
    return tmp_path


def state(home: Path) -> Path:
    return home / "state" / "agents" / "spark-claude"


def test_open_questions_are_listed(home, capsys):
    assert run(["questions"]) == 0

    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "AGENT", "KIND", "ASKED", "WHERE", "ANSWERS", "TEXT"]
    assert first.split()[:3] == ["qabc", "spark-claude", "permission"]
    assert first.endswith("#ops   yes/no/abort  May I run this command? rm -rf build [y/N]")
    assert second.split()[:3] == ["qxyz", "spark-claude", "ask"]


def test_the_exact_parameters_are_in_json(home, capsys):
    assert run(["questions", "--json"]) == 0

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["id"] for row in rows] == ["qabc", "qxyz"]
    assert rows[0]["parameters"] == {"command": "rm -rf build", "tool": "Bash"}
    assert (rows[0]["agent"], rows[0]["task"], rows[0]["votes"]) == ("spark-claude", "tidy up", [])


def test_an_agent_that_does_not_run_is_answered_in_its_file(home, capsys):
    assert run(["answer", "qabc", "yes", "go", "ahead"]) == 0

    file = AgentFile(state(home))
    question = file.questions.get("qabc")
    file.close()
    assert question is not None
    assert (question.state, question.choice, question.authority) == (QuestionState.ANSWERED, "yes", "person")
    assert "answered question qabc of spark-claude" in capsys.readouterr().err
    with pytest.raises(NoInputError, match="no open question 'qabc'"):
        run(["answer", "qabc", "no"])


def test_an_answer_that_is_no_choice_is_refused(home):
    with pytest.raises(UsageError, match="'maybe' is none of yes, no, abort") as refused:
        run(["answer", "qabc", "maybe"])
    assert refused.value.hint == "culturectl answer qabc yes"


def test_the_audit_log_is_shown_and_verified(home, capsys):
    run(["answer", "qabc", "no"])
    capsys.readouterr()
    assert run(["audit"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[2:4] == ["QUESTION", "EVENT"]
    assert [row.split()[4] for row in rows] == ["asked", "asked", "answered"]
    assert "person" in rows[2]

    assert run(["audit", "verify"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["spark-claude", "3", "intact"]

    with closing(sqlite3.connect(state(home) / FILE)) as connection, connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("UPDATE audit SET details = replace(details, 'no', 'yes') WHERE number = 3")
    assert run(["audit", "verify", "--json"]) == 1
    first, _ = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == {"agent": "spark-claude", "rows": 3, "problems": ["row 3 was changed"]}


def test_without_questions_there_is_nothing_to_show(tmp_path, monkeypatch, capsys):
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    assert run(["questions"]) == 0
    assert run(["audit"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "no agent waits for an answer" in told.err
