"""culturectl log: what an agent did, tool by tool, also while it does it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from culture.config import paths
from culture.ctl.main import run
from culture.errors import NoInputError
from culture.store.agent.transcript import HEAD_CHARS, TAIL_CHARS, Step, StepKind, Transcript

NICK = "spark-claude"
# 2026-11-16 05:43:39.
T_MS = 1_794_807_819_000


@pytest.fixture
def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    transcript = Transcript(paths.state_dir("", os.environ) / "agents" / NICK)
    yield transcript
    transcript.close()


def work(transcript: Transcript, id: str = "3f2a") -> None:
    transcript.begin(id, "spark-ori", "#ops", T_MS)
    transcript.add(Step(StepKind.PROMPT, "[IRC @mention in #ops] <spark-ori> look"), T_MS)
    transcript.add(Step(StepKind.THINKING, "hm"), T_MS + 1000)
    arguments = json.dumps({"command": "df -h /\nls", "timeout": 5})
    transcript.add(Step(StepKind.TOOL, arguments, "Bash", "t1"), T_MS + 2000)
    transcript.add(Step(StepKind.RESULT, "Size\n  96%", call="t1"), T_MS + 3000)


def test_a_turn_is_told_tool_by_tool(transcript, capsys):
    work(transcript)
    transcript.add(Step(StepKind.TOOL, "{}", "Read", "t2", parent="t0"), T_MS + 3000)
    transcript.add(Step(StepKind.RESULT, "no such file", call="t2", parent="t0", failed=True), T_MS + 3000)
    transcript.add(Step(StepKind.TEXT, "It is full.\nReally."), T_MS + 4000)
    transcript.end("answered", "", T_MS + 4900)

    assert run(["log", NICK]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "turn 3f2a, 2026-11-16 05:43:39, for spark-ori in #ops",
        "05:43:39  asked: [IRC @mention in #ops] <spark-ori> look",
        "05:43:40  thinks: hm",
        "05:43:41  Bash",
        "          command: df -h /",
        "            ls",
        "          timeout: 5",
        "          | Size",
        "          |   96%",
        "05:43:42  Read  (sub-agent)",
        "          failed:",
        "          | no such file",
        "05:43:43  says: It is full.",
        "          Really.",
        "05:43:43  answered after 4.9 s",
        "",
    ]


def test_of_a_long_result_head_and_tail_are_shown(transcript, capsys):
    transcript.begin("1", "spark-ori", "", T_MS)
    long = "a" * HEAD_CHARS + "\n" + "b" * 998 + "\n" + "c" * TAIL_CHARS
    transcript.add(Step(StepKind.RESULT, long, call="t1"), T_MS)

    run(["log", NICK])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("for spark-ori in private")
    assert lines[1:4] == [
        f"          | {'a' * HEAD_CHARS}",
        "          | … 1000 characters left out …",
        f"          | {'c' * TAIL_CHARS}",
    ]
    assert lines[4] == "          the turn goes on, or was broken off"


def test_what_a_terminal_would_obey_is_not_shown(transcript, capsys):
    transcript.begin("1", "spark-ori", "#ops", T_MS)
    transcript.add(Step(StepKind.TOOL, '{"command": "printf \\u001b[2J"}', "Ba\x1b[2Jsh", "t1"), T_MS)
    transcript.add(Step(StepKind.RESULT, "\x1b[2Jgone\x07\rover", call="t1"), T_MS)
    transcript.add(Step(StepKind.TEXT, "\x9b2J"), T_MS)
    transcript.end("failed", "odd \x1b[2J error", T_MS)

    run(["log", NICK])
    run(["log", NICK, "--list"])

    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "\x07", "\r", "\x9b"}


def test_a_turn_is_found_by_its_id(transcript, capsys):
    work(transcript, "aaaa")
    transcript.end("answered", "", T_MS)
    work(transcript, "bbbb")

    run(["log", NICK, "aaaa"])
    assert capsys.readouterr().out.startswith("turn aaaa")
    run(["log", NICK])
    assert capsys.readouterr().out.startswith("turn bbbb")
    with pytest.raises(NoInputError, match="turn 'cccc' of spark-claude is not kept"):
        run(["log", NICK, "cccc"])


def test_turns_are_listed(transcript, capsys):
    work(transcript, "aaaa")
    transcript.end("failed", "too full", T_MS + 1500)
    work(transcript, "bbbb")

    run(["log", NICK, "--list"])

    assert capsys.readouterr().out.splitlines() == [
        "TURN  BEGAN                SECONDS  FROM       WHERE  OUTCOME",
        "aaaa  2026-11-16 05:43:39  1.5      spark-ori  #ops   failed: too full",
        "bbbb  2026-11-16 05:43:39  -        spark-ori  #ops   -",
    ]


def test_programs_get_a_line_of_json_for_each_step(transcript, capsys):
    work(transcript)

    run(["log", NICK, "--json"])

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["kind"] for row in rows] == ["prompt", "thinking", "tool", "result"]
    assert rows[2] == {
        "number": 3, "turn": "3f2a", "at": "2026-11-16T05:43:41.000Z", "kind": "tool", "call": "t1",
        "parent": "", "name": "Bash", "text": '{"command": "df -h /\\nls", "timeout": 5}', "tail": "",
        "left_out": 0, "failed": False,
    }  # fmt: skip


def test_nothing_is_not_an_error_and_nobody_is(transcript, capsys):
    assert run(["log", NICK]) == 0
    assert capsys.readouterr().err == "spark-claude has not begun a turn yet\n"
    with pytest.raises(NoInputError, match="there is no transcript of 'spark-nobody'"):
        run(["log", "spark-nobody"])


@pytest.fixture
def followed(transcript):
    """culturectl as a program that follows, and its output line by line."""
    command = [sys.executable, "-m", "culture.ctl.main", "log", NICK, "--follow"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_it_follows_while_the_agent_works_and_through_the_next_turn(transcript, followed):
    assert followed.stdout is not None
    work(transcript)
    seen = [followed.stdout.readline() for _ in range(9)]
    assert seen[0].startswith("turn 3f2a")
    assert seen[-1] == "          |   96%\n"

    transcript.add(Step(StepKind.TEXT, "It is full."), T_MS)
    assert followed.stdout.readline().endswith("says: It is full.\n")
    transcript.end("answered", "", T_MS)
    assert followed.stdout.readline().endswith("answered after 0.0 s\n")

    work(transcript, "next")
    assert followed.stdout.readline() == "\n"
    assert followed.stdout.readline().startswith("turn next")

    followed.send_signal(signal.SIGINT)
    assert followed.wait(timeout=20) == 0
