"""What a backend needs to run: a specification for its row, and a runner that is watched."""

import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.backends import Row, installed
from support.watched import Judge, Watched, processes

from culture.agent.contract import SessionSpec

Start = Callable[..., Awaitable[Watched]]


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def skill(home) -> Path:
    """An `irc` that keeps its arguments, in the place of the skill's own."""
    program = home / "bin" / "irc"
    program.parent.mkdir()
    program.write_text(
        f'#!{sys.executable}\nimport sys\nopen("{home}/said", "a").write(repr(sys.argv[1:]) + "\\n")\n'
    )
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def mark() -> Iterator[str]:
    """In the environment of everything that the backend starts. Nothing of it outlives the test."""
    mark = f"CULTURE_TEST={uuid.uuid4()}"
    yield mark
    assert processes(mark) == {}


@pytest.fixture
def spec(row: Row, home, skill, model, judge, mark) -> SessionSpec:
    (home / "work").mkdir()
    (home / "home").mkdir()
    url = model.env["ANTHROPIC_BASE_URL"]
    path = os.pathsep.join([str(skill), installed(), os.environ["PATH"]])
    name, _, value = mark.partition("=")
    env = {
        **model.env, **row.env(url, home / "home"), name: value,
        "HOME": str(home / "home"), "PATH": path, "CULTURE_NICK": "spark-agent", "IS_SANDBOX": "",
    }  # fmt: skip
    briefing = "You are spark-agent.\n"
    return SessionSpec(home / "work", briefing, env, row.model, "medium", judge, command=row.command)


@pytest.fixture
async def start(row: Row, spec: SessionSpec) -> AsyncIterator[Start]:
    """`await start(resume=…)`: another runner of this backend, started, and stopped after the test."""
    started: list[Watched] = []

    async def another(initial_prompt: str = "", **changes: Any) -> Watched:
        watched = Watched(row, replace(spec, **changes))
        started.append(watched)
        await watched.runner.start(initial_prompt)
        return watched

    yield another
    for watched in started:
        await watched.runner.stop()


@pytest.fixture
async def agent(start: Start) -> Watched:
    return await start()
