"""`culturectl cost`: rows by agent, task, day, host or model that add up to the total."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from culture.ctl.main import run
from culture.ctl.verbs.agents.cost import bar
from culture.errors import UsageError
from culture.store.ledger.file import FILE, LedgerFile
from culture.store.ledger.records import Hold, Kind, Spender, Use


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    return tmp_path


@pytest.fixture
def ledger(home: Path) -> Iterator[LedgerFile]:
    """Seven sessions whose costs have no round sum, and one that runs."""
    (home / "state").mkdir()
    ledger = LedgerFile(home / "state" / FILE, lambda nick: [], wall_clock=time.time)
    for number in range(7):
        agent, model = (("spark-claude", "opus"), ("spark-codex", "gpt-5"))[number % 2]
        kind: Kind = "supervisor" if number == 6 else "turn"
        hold = Hold(
            str(number), kind, Spender(agent, "spark", "claude", model), "p", 0, f"task\x1b {number % 3}"
        )
        ledger.book(hold, Use(100, 50, number, 33_333 * number + 1), day=f"2026-11-{number + 10}")
    ledger.reserve(
        Hold("running", "turn", Spender("spark-claude", "spark", "claude", "opus"), "p", 1_000_000)
    )
    yield ledger
    ledger.close()


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert run(["cost", *arguments]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("by", ["agent", "task", "day", "host", "model"])
def test_the_rows_add_up_to_the_total(ledger: LedgerFile, capsys: pytest.CaptureFixture[str], by: str):
    assert run(["cost", "--by", by, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    *_, total = lines(capsys, "--by", by)

    assert round(sum(row["cost"] for row in rows), 6) == 0.7 == float(total[-1])
    assert sum(row["turns"] for row in rows) == 6 == int(total[1])
    assert sum(row["others"] for row in rows) == 1 == int(total[2])
    assert sum(row["input_tokens"] for row in rows) == 700 == int(total[3])
    assert sum(row["held"] for row in rows) == 1 == float(total[6])
    assert by in rows[0]


def test_the_most_expensive_comes_first_with_the_longest_bar(
    ledger: LedgerFile, capsys: pytest.CaptureFixture[str]
):
    head, first, second, total = lines(capsys)

    assert head == ["AGENT", "TURNS", "OTHER", "INPUT", "CACHED", "OUTPUT", "RUNNING", "USD"]
    assert (first[0], first[7], first[8]) == ("spark-claude", "0.400000", "█" * 20)
    assert (second[0], second[7], second[8]) == ("spark-codex", "0.300000", "█" * 15)
    assert total[0] == "total"


def test_control_characters_of_a_task_do_not_reach_the_terminal(
    ledger: LedgerFile, capsys: pytest.CaptureFixture[str]
):
    assert run(["cost", "--by", "task"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_earlier_days_are_left_out(ledger: LedgerFile, capsys: pytest.CaptureFixture[str]):
    rows = lines(capsys, "--by", "day", "--since", "2026-11-15")

    assert [row[0] for row in rows[1:3]] == ["2026-11-15", "2026-11-16"]
    assert run(["cost", "--since", "2026-11-15", "--json"]) == 0


def test_a_wrong_day_is_refused_with_a_hint():
    with pytest.raises(UsageError, match="'yesterday' is not a day") as caught:
        run(["cost", "--since", "yesterday"])
    assert caught.value.hint == "culturectl cost --since 2026-11-18"


def test_without_a_ledger_nothing_was_spent(capsys: pytest.CaptureFixture[str]):
    assert run(["cost"]) == 0
    assert capsys.readouterr().err == "nothing was spent yet\n"


def test_bars_have_steps_of_an_eighth():
    assert [bar(amount, 160) for amount in (0, 1, 8, 12, 160)] == ["", "▏", "█", "█▌", "█" * 20]
    assert bar(0, 0) == ""
