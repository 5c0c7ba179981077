"""Coding agents find the irc skill where `culturectl skills install` puts it: asked of their own programs."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from support.backends import installed

from culture.agent.backends.claude.cli import find_cli
from culture.ctl.main import run

pytestmark = pytest.mark.slow

CODEX = [
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
    {"method": "initialized"},
    {"id": 2, "method": "skills/list", "params": {}},
]


@pytest.fixture
def person(home, monkeypatch) -> dict[str, str]:
    """Somebody who installed it for all their sessions: their environment."""
    path = f"{installed()}:{os.environ['PATH']}"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert run(["skills", "install"]) == 0
    (home / "work").mkdir()
    return {"HOME": str(home), "PATH": path}


def told(command: list[str], person: dict[str, str]) -> str:
    work = Path(person["HOME"], "work")
    env = {**person, "COPILOT_OFFLINE": "true", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, timeout=50, check=True)
    return done.stdout


async def test_claude(person, model, home):
    env = {**model.env, **person}
    options = ClaudeAgentOptions(
        cli_path=find_cli(person), cwd=home / "work", env=env, setting_sources=["user"]
    )
    async with ClaudeSDKClient(options) as client:
        commands = (await client.get_server_info())["commands"]

    assert "irc" in [command["name"] for command in commands]


def test_codex(person, home):
    with subprocess.Popen(
        ["codex", "app-server"], env=person, cwd=home / "work", text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as codex:  # fmt: skip
        codex.stdin.write("".join(json.dumps(message) + "\n" for message in CODEX))
        answer = next(each for each in map(json.loads, codex.stdout) if each.get("id") == 2)
        codex.stdin.close()

    (place,) = answer["result"]["data"]
    assert "irc" in [skill["name"] for skill in place["skills"]]


def test_opencode(person):
    assert "irc" in [skill["name"] for skill in json.loads(told(["opencode", "debug", "skill"], person))]


def test_copilot(person):
    assert "\n  irc - Speak and read on IRC." in told(["copilot", "skill", "list"], person)
