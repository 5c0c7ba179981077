"""What an agent did, kept on disk with a bound, and read while it is written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from culture.store.agent.transcript import (
    FILE,
    HEAD_CHARS,
    TAIL_CHARS,
    Step,
    StepKind,
    Transcript,
    reading_transcript,
)


@pytest.fixture
def transcript(tmp_path: Path):
    transcript = Transcript(tmp_path)
    yield transcript
    transcript.close()


def test_steps_are_read_while_the_turn_goes_on(transcript, tmp_path):
    transcript.begin("3f2a", "spark-ori", "#ops", 1000)
    transcript.add(Step(StepKind.TOOL, '{"command": "df"}', "Bash", "t1"), 1001)
    with reading_transcript(tmp_path) as reader:
        [turn] = reader.turns()
        assert (turn.id, turn.ended_ms, turn.outcome) == ("3f2a", None, "")
        [tool] = reader.steps(turn.number)
        assert (tool.kind, tool.name, tool.text, tool.turn) == ("tool", "Bash", '{"command": "df"}', "3f2a")

        transcript.add(Step(StepKind.RESULT, "91%", call="t1", failed=True), 1002)
        transcript.end("failed", "too full", 1003)

        [result] = reader.steps(turn.number, after=tool.number)
        assert (result.call, result.text, result.failed, result.left_out) == ("t1", "91%", True, 0)
        assert reader.turns()[0].ended_ms == 1003
        assert reader.turns()[0].error == "too full"


def test_of_a_long_text_head_and_tail_are_kept(transcript, tmp_path):
    transcript.begin("1", "", "", 0)
    transcript.add(Step(StepKind.RESULT, "a" * HEAD_CHARS + "b" * 1000 + "é" * TAIL_CHARS), 0)
    transcript.add(Step(StepKind.RESULT, "half a pair: \ud83d"), 0)
    with reading_transcript(tmp_path) as reader:
        long, odd = reader.steps(reader.turns()[0].number)
    assert (long.text, long.tail, long.left_out) == ("a" * HEAD_CHARS, "é" * TAIL_CHARS, 1000)
    assert odd.text == "half a pair: ?"


def test_the_file_is_bounded_by_turns(tmp_path):
    transcript = Transcript(tmp_path, most_turns=3)
    for number in range(10):
        transcript.begin(str(number), "", "", 0)
        transcript.add(Step(StepKind.TEXT, "x"), 0)
        transcript.end("answered", "", 0)
    with reading_transcript(tmp_path) as reader:
        assert [turn.id for turn in reader.turns()] == ["7", "8", "9"]
    transcript.close()


def test_the_file_is_bounded_by_bytes_also_within_one_turn(tmp_path):
    bound = 200_000
    transcript = Transcript(tmp_path, most_bytes=bound)
    transcript.begin("old", "", "", 0)
    transcript.add(Step(StepKind.TEXT, "old"), 0)
    transcript.begin("new", "", "", 0)
    for number in range(1000):
        transcript.add(Step(StepKind.RESULT, f"{number} " + "x" * 5000), 0)
    with reading_transcript(tmp_path) as reader:
        [turn] = reader.turns()
        steps = reader.steps(turn.number)
    assert turn.id == "new"
    assert steps[-1].text.startswith("999 ")
    assert sum(len(step.text) for step in steps) <= bound
    transcript.close()
    assert (tmp_path / FILE).stat().st_size < 6 * bound


def test_only_its_user_reads_it(transcript, tmp_path):
    transcript.begin("1", "", "", 0)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_root_leaves_behind_by_reading_belongs_to_the_agent(tmp_path):
    transcript = Transcript(tmp_path)
    transcript.begin("1", "", "", 0)
    transcript.close()
    os.chown(tmp_path / FILE, 65534, 65534)
    with reading_transcript(tmp_path) as reader:
        assert len(reader.turns()) == 1
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {65534}


KILLED = """
import os, signal, sys
from pathlib import Path
from culture.store.agent.transcript import Step, StepKind, Transcript
transcript = Transcript(Path(sys.argv[1]))
transcript.begin("3f2a", "spark-ori", "#ops", 1000)
transcript.add(Step(StepKind.TOOL, "{}", "Bash", "t1"), 1001)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_lost_when_the_process_is_killed(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    with reading_transcript(tmp_path) as reader:
        [turn] = reader.turns()
        assert [step.name for step in reader.steps(turn.number)] == ["Bash"]
    transcript = Transcript(tmp_path)
    transcript.begin("next", "", "", 0)
    with reading_transcript(tmp_path) as reader:
        assert [(turn.id, turn.ended_ms) for turn in reader.turns()] == [("3f2a", None), ("next", None)]
    transcript.close()
    assert os.path.exists(tmp_path / FILE)
