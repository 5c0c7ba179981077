"""Programs that end, that do not want to end, and that leave others behind."""

import os
import signal
import sys
from pathlib import Path

import pytest
from support.watched import processes

from culture.agent.backends import program as module
from culture.agent.backends.program import MARK, Program, end_marked
from culture.errors import TemporaryError, UnavailableError

# Starts a process in a session of its own that holds our pipes, then does what it is told.
LEAVES_ONE = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("ready", flush=True)
"""


async def started(code: str, tmp_path: Path) -> Program:
    program = await Program.start([sys.executable, "-c", code], tmp_path, dict(os.environ))
    assert await program.reader.readline() == b"ready\n"
    return program


def left_of(program: Program) -> set[int]:
    return set(processes(f"{MARK}={program.mark}"))


async def test_its_status_is_known_at_once_and_what_it_left_is_gone(tmp_path):
    program = await started(LEAVES_ONE + "sys.exit(3)", tmp_path)

    assert await program.wait() == 3
    assert left_of(program) == set()


async def test_a_killed_one_is_told_by_its_signal(tmp_path, eventually):
    program = await started(LEAVES_ONE + "time.sleep(1000)", tmp_path)
    # While a process becomes another program, nobody can read what it was started with.
    await eventually(lambda: len(left_of(program)) == 2)

    os.kill(program.pid, signal.SIGKILL)

    assert await program.wait() == -9
    assert left_of(program) == set()


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("sys.stdin.read()", 0),
        ("time.sleep(1000)", -signal.SIGTERM),
        ("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)", -signal.SIGKILL),
    ],
)
async def test_it_is_asked_to_go_and_then_made_to(tmp_path, monkeypatch, code, status):
    monkeypatch.setattr(module, "GRACE_S", 0.3)
    program = await started(LEAVES_ONE + code, tmp_path)

    assert await program.end() == status
    assert await program.end() == status
    assert left_of(program) == set()


async def test_its_last_words_are_kept(tmp_path):
    program = await started(
        "import sys; print('ready', flush=True)\nfor n in range(30): print(f'  line {n}', file=sys.stderr)",
        tmp_path,
    )

    await program.wait()

    assert program.last_words[-1] == "line 29"
    assert len(program.last_words) == 10


async def test_what_is_not_there_cannot_be_started(tmp_path):
    with pytest.raises(UnavailableError, match="cannot start '/no/such': No such file"):
        await Program.start(["/no/such"], tmp_path, {})


async def test_one_that_is_just_being_written_may_be_started_later(tmp_path):
    program = tmp_path / "program"
    with program.open("w") as file:
        program.chmod(0o755)
        file.write("#!/bin/sh\n")
        file.flush()
        with pytest.raises(TemporaryError, match=r"cannot start '.*': Text file busy"):
            await Program.start([str(program)], tmp_path, {})


async def test_with_nothing_left_there_is_nothing_to_end():
    await end_marked("of nobody")
