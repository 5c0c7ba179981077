"""What `culturectl top` knows, draws and does by key, without a terminal."""

import json
import os
import socket
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.questions.records import QuestionRecords
from culture.agent.reporting.state import AgentState
from culture.config import paths
from culture.ctl import agents
from culture.ctl.agents import UNKNOWN, Report
from culture.ctl.main import run
from culture.ctl.top import collect
from culture.ctl.top.cells import clean, fit, shorten, tail, width
from culture.ctl.top.collect import Collector
from culture.ctl.top.controls import Item, Mode, Request, View, items, press, refreshed
from culture.ctl.top.draw import Line, Style, draw
from culture.ctl.top.model import Answers, Group, Snapshot, build, describe_tool, rows_of
from culture.errors import ConfigError
from culture.store.agent.file import AgentFile
from culture.store.agent.questions import NewQuestion, QuestionKind
from culture.store.agent.transcript import Step, StepKind, Transcript, reading_transcript

GOLDEN = Path(__file__).parent / "golden" / "top"
# 2026-11-18 12:00:00 UTC.
NOW_S = 1_795_003_200.0
BEFORE = "2026-11-18T11:5{}:00.000Z"
HOSTILE = "\x1b[2J\x07evil\r\nname\u202e \u9f8d\u9f8d e" + "\u0301" * 40 + "\U0001f469\u200d\U0001f4bb"


def agent(nick: str, state: str, minute: int | None = 0, **more: Any) -> Answers:
    """An agent that answered, in a state since 11:50 and so many minutes."""
    since = None if minute is None else BEFORE.format(minute)
    row = {"nick": nick, "backend": "claude", "service": None, "state": state, "since": since}
    row |= {"why": more.pop("why", ""), "status": more.pop("status", f"{state} in #ops")}
    row |= {"waiting": more.pop("waiting", 0), "cost_usd_today": more.pop("cost", 0.25)}
    questions, tool = more.pop("questions", ()), more.pop("tool", None)
    screen = {"turn": None, "context": 0.42, **more}
    return Answers(Report(row, screen), questions, tool)


def dead(nick: str) -> Answers:
    """An agent that does not run."""
    found = agent(nick, AgentState.DEAD, None, why="no process answers", waiting=None, cost=None)
    return found._replace(report=Report(found.report.row, None))


def question(id: str, text: str, minute: int = 0, **more: Any) -> dict[str, Any]:
    row = {"id": id, "kind": "permission", "asked": BEFORE.format(minute), "place": "#ops", "text": text}
    return {**row, "options": ["yes", "no", "abort"], "votes": [], **more}


TURN = {"id": "3f2a", "for": "spark-ori", "where": "in #ops", "seconds": 120}
LINKS = [
    {"host": "thor", "state": "linked", "lag_ms": 0.4, "lacking_here": [], "lacking_there": ["spark"]},
    {"host": "orin", "state": "apart", "lag_ms": None, "lacking_here": [], "lacking_there": []},
]
ANSWERS = [
    agent("spark-idle", AgentState.IDLE, 1),
    dead("spark-old"),
    agent("spark-codex", AgentState.PAUSED, 2, why="for the night", waiting=3),
    agent("spark-claude", AgentState.WAITING_FOR_ANSWER, 4, why="asked in #ops", turn=TURN,
          questions=[question("q7kd", "May I run this command? rm -rf build", 4,
                              votes=[{"nick": "spark-bo", "choice": "yes"}])]),
    agent("spark-worker", AgentState.WORKING, 8, turn=TURN, cost=1.5,
          tool=Step(StepKind.TOOL, '{"command": "df -h /\\n ls", "timeout": 5}', "Bash", "t1")),
]  # fmt: skip


def known(*answers: Answers, **more: Any) -> Snapshot:
    return build(NOW_S, "spark", [rows_of(each) for each in answers], **more)


def text_of(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_agents_are_grouped_by_urgency_and_the_longest_wait_is_first():
    snapshot = known(*ANSWERS, agent("spark-early", AgentState.IDLE, 0), agent("spark-odd", UNKNOWN, None))

    assert [(row.group.value, row.nick) for row in snapshot.agents] == [
        ("needs you", "spark-claude"),
        ("working", "spark-worker"),
        ("waiting", "spark-codex"),
        ("idle", "spark-early"),
        ("idle", "spark-idle"),
        ("not running", "spark-old"),
        ("unknown", "spark-odd"),
    ]


def test_every_state_has_a_group():
    assert all(known(agent("a", state)).agents[0].group is not Group.UNKNOWN for state in AgentState)


def test_an_agent_with_an_open_question_needs_you_whatever_it_does():
    [row] = known(agent("a", AgentState.IDLE, questions=[question("q1", "which?")])).agents

    assert (row.group, row.questions) == (Group.NEEDS_YOU, ("q1",))


def test_the_ledger_is_believed_about_costs_also_of_agents_that_are_gone():
    costs = {"spark-worker": 2.0, "spark-old": 0.5, "spark-removed": 0.25}
    snapshot = known(*ANSWERS, costs=costs)

    by_nick = {row.nick: row.cost_usd_today for row in snapshot.agents}
    assert (by_nick["spark-worker"], by_nick["spark-old"], by_nick["spark-idle"]) == (2.0, 0.5, 0.25)
    assert snapshot.cost_usd_today == 2.75
    assert known(*ANSWERS).cost_usd_today == 2.25


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"command": "df -h /\\n ls"}', "Bash: df -h / ls"),
        ('{"timeout": 5}', "Bash"),
        ('{"command": 5, "path": "/tmp"}', "Bash: /tmp"),
        ('{"command": "cut of', "Bash"),
        ("[1]", "Bash"),
    ],
)
def test_a_tool_call_is_one_line(arguments: str, shown: str):
    assert describe_tool(Step(StepKind.TOOL, arguments, "Bash", "t1")) == shown


def test_the_running_tool_is_the_last_call_that_has_not_returned(tmp_path: Path):
    transcript = Transcript(tmp_path)
    transcript.begin("3f2a", "spark-ori", "#ops", 1)

    def running() -> str | None:
        with reading_transcript(tmp_path) as reader:
            found = reader.running_tool("3f2a")
            assert reader.running_tool("other") is None
        return found.call if found else None

    assert running() is None
    transcript.add(Step(StepKind.TOOL, "{}", "Bash", "t1"), 2)
    transcript.add(Step(StepKind.TOOL, "{}", "Read", "t2"), 3)
    assert running() == "t2"
    transcript.add(Step(StepKind.RESULT, "done", call="t2"), 4)
    assert running() == "t1"
    transcript.add(Step(StepKind.RESULT, "done", call="t1"), 5)
    assert running() is None
    transcript.close()


SCREENS = {
    "everything": (known(*ANSWERS, links=LINKS), View(Item("question", "q7kd"))),
    "an agent": (known(*ANSWERS, links=LINKS), View(Item("agent", "spark-worker"), message="paused it")),
    "answering": (
        known(*ANSWERS),
        View(Item("question", "q7kd"), Mode.ANSWER, "spark-claude", "q7kd", "no, keep it "),
    ),
    "aborting": (known(*ANSWERS), View(Item("agent", "spark-worker"), Mode.CONFIRM_ABORT, "spark-worker")),
    "hostile": (
        known(
            agent("spark-" + "n" * 200, AgentState.IDLE),
            agent("spark-龍龍龍龍龍龍龍龍龍龍龍龍龍", AgentState.WORKING, turn={**TURN, "for": HOSTILE}),
            agent(HOSTILE, AgentState.HUNG, why=HOSTILE, questions=[question(HOSTILE, HOSTILE * 9)]),
            links=[{**LINKS[0], "host": HOSTILE, "lacking_here": [HOSTILE]}],
            problems=[HOSTILE],
        ),
        View(Item("agent", HOSTILE), message=HOSTILE),
    ),
    "many": (
        known(*(agent(f"spark-{n:03}", AgentState.IDLE) for n in range(100))),
        View(Item("agent", "spark-050")),
    ),
    "no agents": (known(), View()),
    "first": (None, View()),
}  # fmt: skip
SIZES = [(24, 80), (10, 40), (50, 200)]


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("rows", "columns"), SIZES, ids=lambda size: str(size))
@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_is_as_recorded(utc: None, name: str, rows: int, columns: int):
    """`UPDATE_GOLDEN=1` records. The letters in front are the styles of the spans of a line."""
    snapshot, view = SCREENS[name]
    lines = draw(snapshot, view, rows, columns, NOW_S)
    styles = ["".join(span.style.value[0] for span in line) for line in lines]
    told = [f"{style:3}|{text}" for style, text in zip(styles, text_of(lines), strict=True)]
    path = GOLDEN / f"{name.replace(' ', '-')}-{columns}x{rows}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(told) + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines() == told


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 10, 16, 24])
@pytest.mark.parametrize("columns", [1, 2, 5, 20, 40, 69, 70, 80, 300])
@pytest.mark.parametrize("name", SCREENS)
def test_no_line_is_wider_and_no_screen_is_higher_than_the_terminal(name: str, rows: int, columns: int):
    lines = draw(*SCREENS[name], rows, columns, NOW_S)

    assert len(lines) <= rows
    for text in text_of(lines):
        assert width(text) <= columns
        assert all(unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp", "Cs") for char in text)


def test_a_screen_that_is_not_refreshed_says_so(utc: None):
    lines = draw(known(*ANSWERS), View(), 24, 80, NOW_S + 60)

    assert text_of(lines)[1] == "not refreshed since 12:00:00"


@pytest.mark.parametrize("selected", [0, 1, 50, 98, 99])
@pytest.mark.parametrize("rows", [4, 5, 10, 24])
def test_what_is_selected_is_always_visible(selected: int, rows: int):
    snapshot, _ = SCREENS["many"]
    assert snapshot is not None
    lines = draw(snapshot, View(Item("agent", f"spark-{selected:03}")), rows, 80, NOW_S)

    [marked] = [line for line in lines if line and line[0].style is Style.SELECTED]
    assert marked[0].text.startswith(f"> spark-{selected:03} ")


@given(st.text(max_size=60), st.integers(0, 40))
def test_any_text_fits_its_cells(text: str, cells: int):
    cleaned = clean(text)
    assert width(fit(cleaned, cells)) == cells
    assert width(shorten(cleaned, cells)) <= cells
    assert width(tail(cleaned, cells)) <= cells


def test_wide_and_combining_characters_are_counted_as_terminals_do():
    assert width("龍a") == 3
    assert width(clean("e" + "\u0301" * 40)) == 1
    assert shorten("龍龍龍", 4) == "龍…"
    assert clean("\x1b[31mred\x1b[0m\ttab\u202egnp") == "[31mred [0m tabgnp"


def browse(
    *keys: str, view: View | None = None, snapshot: Snapshot | None = None
) -> tuple[View, Request | None]:
    snapshot = snapshot or known(*ANSWERS)
    view, request = view or View(items(snapshot)[0]), None
    for key in keys:
        view, request = press(view, snapshot, key)
    return view, request


def test_the_mark_moves_over_questions_and_agents():
    names = [item.name for item in items(known(*ANSWERS))]
    assert names[:3] == ["q7kd", "spark-claude", "spark-worker"]
    assert browse("down", "j")[0].selected == Item("agent", "spark-worker")
    assert browse("down", "down", "up", "k", "up")[0].selected == Item("question", "q7kd")
    assert browse("end", "down")[0].selected == Item("agent", names[-1])
    assert browse("G", "home")[0].selected == Item("question", "q7kd")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["p"], Request("pause", "spark-claude")),
        (["down", "down", "r"], Request("resume", "spark-worker")),
        (["down", "enter"], Request("log", "spark-claude")),
        (["l"], Request("log", "spark-claude")),
        (["x"], None),
        (["x", "y"], Request("abort", "spark-claude")),
        (["x", "n"], None),
        (["x", "q"], None),
        (["q"], Request("quit")),
        ([" "], Request("refresh")),
        (["a", *"nox", "backspace", "enter"], Request("answer", "spark-claude", "q7kd", "no")),
        (["down", "a", "ü", "enter"], Request("answer", "spark-claude", "q7kd", "ü")),
        (["enter", "y", "clear", "q", "enter"], Request("answer", "spark-claude", "q7kd", "q")),
        (["a", "y", "escape"], None),
        (["a", " ", "enter"], None),
        (["a", "y", "up", "", "\x01"], None),
        (["z"], None),
        ([""], None),
    ],
)
def test_each_key_does_what_the_man_page_says(keys: list[str], expected: Request | None):
    assert browse(*keys)[1] == expected


def test_an_agent_that_asks_nothing_says_so():
    view, request = browse("end", "a")
    assert (view.mode, view.message, request) == (Mode.BROWSE, "spark-old asks nothing", None)


def test_before_the_first_answer_only_quit_works():
    assert press(View(), None, "p") == (View(), None)
    assert press(View(), None, "q")[1] == Request("quit")


def test_the_selection_and_what_is_typed_stay_when_the_screen_changes():
    old = known(*ANSWERS)
    view, _ = browse("a", "n", "o")
    gone = known(*ANSWERS[:3])

    changed = refreshed(view, old, gone)
    assert (changed.question, changed.typed) == ("q7kd", "no")
    assert changed.selected == items(gone)[0]
    assert press(changed, gone, "enter")[1] == Request("answer", "spark-claude", "q7kd", "no")
    assert refreshed(View(Item("agent", "spark-idle")), old, gone).selected == Item("agent", "spark-idle")
    assert refreshed(view, old, known()).selected is None
    assert refreshed(View(), None, old).selected == items(old)[0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two agents that do not run; one of them asked a question."""
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}, {nick: spark-codex}]\n")
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    file = AgentFile(tmp_path / "state" / "agents" / "spark-claude")
    records = QuestionRecords(file, "spark-claude", lambda: 1_700_000_000_000)
    new = NewQuestion(QuestionKind.ASK, "which\ndisk?", "#ops", (), "{}", task="tidy up")
    records.add(new, lambda: "qxyz", is_waiting=False)
    file.close()
    return tmp_path


@pytest.mark.parametrize("arguments", [["top"], ["top", "--once"]])
def test_in_a_pipe_it_is_one_table(home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]):
    assert run(arguments) == 0

    assert capsys.readouterr().out.splitlines() == [
        "GROUP        NAME          STATE  SINCE  QUEUE  FULL  TODAY  DOING",
        "needs you    spark-claude  dead   -      -      -     -      qxyz: which disk? [text]",
        "not running  spark-codex   dead   -      -      -     -      no process answers",
    ]


def test_json_has_one_object_for_each_question_agent_and_link(home: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["top", "--json"]) == 0

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["type"], row.get("nick") or row["id"]) for row in rows] == [
        ("question", "qxyz"),
        ("agent", "spark-claude"),
        ("agent", "spark-codex"),
    ]
    assert rows[0]["text"] == "which\ndisk?"
    assert (rows[1]["group"], rows[1]["questions"]) == ("needs you", ["qxyz"])


def test_links_of_a_server_that_does_not_run_are_a_problem(home: Path, capsys: pytest.CaptureFixture[str]):
    (home / "ircd.yaml").write_text("name: spark\nlinks: [{name: thor, secret_credential: x}]\n")
    assert run(["top", "--once"]) == 0
    assert capsys.readouterr().err == "culturectl: links: the server is not running\n"

    (home / "state" / "links.json").write_text(json.dumps({"links": LINKS}))
    assert run(["top", "--once"]) == 0
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert [row.split()[:3] for row in rows] == [["link", "thor", "linked"], ["link", "orin", "apart"]]
    assert rows[0].endswith("lag 0.4 ms")


def test_a_wrong_file_is_an_error(home: Path):
    (home / "agents.yaml").write_text("agent: []\n")
    with pytest.raises(ConfigError, match="unknown key 'agent'"):
        run(["top", "--once"])


def test_an_agent_that_misses_the_deadline_is_a_row_and_is_asked_by_one_thread_only(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(collect, "DEADLINE_S", 0.2)
    monkeypatch.setattr(agents, "_ANSWER_TIMEOUT_S", 600.0)
    path = paths.agent_socket("spark-codex", {**os.environ, "CULTURE_SOCKET": ""})
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        collector = Collector(home / "agents.yaml", home / "ircd.yaml")
        for _ in range(2):
            hung = collector.snapshot().agent("spark-codex")
            assert hung is not None
            assert (hung.group, hung.state, hung.why) == (Group.NEEDS_YOU, "hung", "no answer within 0 s")
        listener.settimeout(30)
        first, _ = listener.accept()
        listener.setblocking(False)
        with first, pytest.raises(BlockingIOError):
            listener.accept()
