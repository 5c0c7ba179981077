"""What is particular to the real Claude Code program; what every backend does is in contract/."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.backends import ROWS
from support.watched import OK, Watched, ends

from culture.agent.backend.permission import REFUSAL, only_irc
from culture.agent.backends.claude.cli import find_cli
from culture.agent.backends.claude.options import make_options
from culture.agent.backends.claude.runner import ClaudeRunner
from culture.errors import NotAllowedError, UnavailableError
from culture.rehearsal.script import Script, ScriptRule, ScriptStep, ToolStep


@pytest.fixture
def row():
    return ROWS["claude"]


@pytest.fixture
async def locked(start) -> Watched:
    """With `permission_mode: deny`."""
    return await start(judge=only_irc())


@pytest.fixture
async def unlocked(start, spec, monkeypatch) -> Watched:
    """With `permission_mode: bypass`, which root has only in what the CLI is told to be a sandbox."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return await start(judge=None, env={**spec.env, "IS_SANDBOX": "1"})


def children() -> set[int]:
    """Processes whose parent we are."""
    lists = (task / "children" for task in Path("/proc/self/task").iterdir())
    return {int(pid) for each in lists for pid in each.read_text().split()}


# How it is started


async def test_it_is_briefed_by_a_file_that_goes_with_the_session(agent):
    [cli] = children()
    briefing = briefing_of(cli)
    assert mode_of(briefing) == 0o600

    await agent.runner.stop()
    assert mode_of(briefing) is None


def briefing_of(cli: int) -> Path:
    """The file on the command line of a CLI, which does not hold the words themselves."""
    command = Path(f"/proc/{cli}/cmdline").read_bytes()
    assert b"You are spark-agent." not in command
    return Path(command.split(b"--append-system-prompt-file")[1].strip(b"\0=").split(b"\0")[0].decode())


def mode_of(path: Path) -> int | None:
    return path.stat().st_mode & 0o777 if path.exists() else None


@pytest.mark.skipif(os.geteuid() != 0, reason="is about root")
async def test_bypass_is_refused_to_root_before_anything_starts(spec):
    with pytest.raises(NotAllowedError, match="does not run as root") as refused:
        ClaudeRunner(replace(spec, judge=None))
    assert "permission_mode: deny" in refused.value.hint


def test_a_refused_key_is_not_tried_for_minutes(spec):
    bare = replace(spec, env={})

    def tries(env):
        return make_options(bare, Path("claude"), Path("brief"), print, env).env["CLAUDE_CODE_MAX_RETRIES"]

    assert tries({}) == "4"
    assert tries({"CLAUDE_CODE_MAX_RETRIES": "1"}) == "1"


def test_without_a_program_it_says_how_to_get_one(tmp_path):
    with pytest.raises(UnavailableError, match="not on PATH") as missing:
        find_cli({"PATH": str(tmp_path)}, bundled=tmp_path / "none")
    assert missing.value.hint.startswith("npm install")


@pytest.mark.parametrize(
    ("version", "taken"), [("2.1.325 (Claude Code)", True), ("2.1.247", False), ("hello", False)]
)
def test_a_program_too_old_for_verbatim_prompts_is_not_taken(tmp_path, version, taken):
    cli = program(tmp_path / "claude", version)
    env = {"PATH": str(tmp_path)}

    if taken:
        assert find_cli(env, bundled=tmp_path / "none") == cli
    else:
        with pytest.raises(UnavailableError, match=r"at least 2\.1\.248 is needed"):
            find_cli(env, bundled=tmp_path / "none")


def test_the_program_that_is_configured_comes_before_the_sdks_own(tmp_path):
    cli = program(tmp_path / "my-claude", "2.1.325")

    assert find_cli({"PATH": str(tmp_path)}, ["my-claude"]) == cli
    assert find_cli({}, [str(cli)]) == cli
    with pytest.raises(UnavailableError, match="takes no options"):
        find_cli({}, [str(cli), "--verbose"])


def program(path: Path, version: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


# permission_mode: deny


def running(commands) -> Script:
    """A model as bad as can be: `command 3` makes it run the fourth of these, then say what came of it."""
    told = ScriptRule(answer=(ScriptStep(text="{output}"),), after_tool="any")
    tools = (ToolStep("Bash", {"command": command}) for command in commands)
    asked = (
        ScriptRule(answer=(ScriptStep(tool=tool),), prompt=f"^command {n}$") for n, tool in enumerate(tools)
    )
    return Script((told, *asked))


NOT_THE_SKILL_ALONE = (
    "irc send '#g' hi; touch owned",
    "irc send '#g' hi && touch owned",
    "irc send '#g' \"$(touch owned)\"",
    "irc send '#g' `touch owned`",
    "irc send '#g' hi > owned",
    "irc send '#g' \"$ANTHROPIC_API_KEY\"",
    "ls",
    "cat /etc/hostname",
    "touch owned",
)


async def test_deny_refuses_whatever_is_not_the_skill_alone(locked, model, home, eventually):
    model.play(running(NOT_THE_SKILL_ALONE))
    for number in range(len(NOT_THE_SKILL_ALONE)):
        await locked.runner.send_prompt(f"command {number}")

    await ends(locked, eventually, len(NOT_THE_SKILL_ALONE))

    assert [REFUSAL in text for text in locked.texts()] == [True] * len(NOT_THE_SKILL_ALONE)
    assert not (home / "said").exists()
    assert not (home / "work" / "owned").exists()


async def test_deny_has_no_other_tools(locked, model, home, eventually):
    (home / "work" / "notes").write_text("private")
    read = ToolStep("Read", {"file_path": f"{home}/work/notes"})
    told = ScriptRule(answer=(ScriptStep(text="{output}"),), after_tool="any")
    model.play(Script((told, ScriptRule(answer=(ScriptStep(tool=read),)))))
    await locked.runner.send_prompt("read it")
    await ends(locked, eventually)

    assert "private" not in locked.texts()[-1]


async def test_what_cannot_be_judged_is_not_done(start, model, eventually):
    async def judge(request):
        raise RuntimeError("a bug of ours")

    agent = await start(judge=judge)
    model.play(running(["ls", "touch owned"]))
    for number in range(2):
        await agent.runner.send_prompt(f"command {number}")
    await ends(agent, eventually, 2)

    assert all("not allowed" in text for text in agent.texts())


# What the CLI tells


async def test_clearing_begins_another_session(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await ends(agent, eventually)
    before = agent.runner.session_id

    await agent.runner.clear()

    await eventually(agent.contexts)
    assert agent.runner.session_id not in (None, before)


async def test_there_may_be_nothing_to_compact(agent, eventually):
    await agent.runner.compact()

    [context] = await eventually(agent.contexts)

    assert context.failed
    assert "No messages to compact" in context.error
    assert agent.messages == [context]


async def test_a_stream_that_always_breaks_off_is_no_success(agent, model, eventually):
    model.play("rules: [{answer: [{text: half a reply}, {drop: true}]}]")
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert result.failed
    assert "Connection dropped" in result.error
    assert result.status is None


async def test_a_message_may_be_as_large_as_an_image(agent, model, eventually):
    large = "x" * 2**21
    model.play(Script((ScriptRule(answer=(ScriptStep(text=large),)),)))
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert not result.failed
    assert agent.texts() == [large]


async def test_a_turn_of_very_many_messages_can_still_be_interrupted(agent, model, eventually):
    """The SDK holds a hundred messages, and then neither reads nor answers."""
    calls = ", ".join(["{run: [echo, a]}"] * 70)
    model.play(
        f"rules: [{{times: 1, prompt: '^many$', answer: [{calls}]}},"
        " {after_tool: any, answer: [{text: half}, {stall: true}]}]"
    )
    await agent.runner.send_prompt("many")
    await eventually(lambda: len(model.prompts()) == 2, within_s=40)
    assert len(agent.uses()) == 70

    await asyncio.wait_for(agent.runner.interrupt(), 1)

    [result] = await ends(agent, eventually)
    assert result.failed


# What it does by itself

BACKGROUND = """
rules:
  - {prompt: ^after, answer: [{text: asked for}]}
  - {after_tool: any, times: 1, answer: [{text: it runs}]}
  - {prompt: ^begin, times: 1, answer: [{tool: {name: Bash, input:
      {command: 'until [ -e go ]; do sleep 0.1; done', run_in_background: true}}}]}
  - {times: 1, answer: [{delay_s: 0.3}, {tool: {name: Bash, input: {command: 'true'}}}]}
  - {after_tool: any, answer: [{delay_s: 0.3}, {text: not asked for}]}
"""


async def test_a_turn_that_nobody_asked_for_takes_no_prompts_result(unlocked, model, home, eventually):
    model.play(BACKGROUND)
    await unlocked.runner.send_prompt("begin")
    await ends(unlocked, eventually)

    (home / "work" / "go").touch()
    await eventually(lambda: len(model.server.asked) == 3)
    await unlocked.runner.send_prompt("after that")

    await ends(unlocked, eventually, 3)
    assert [result.asked for result in unlocked.results()] == [True, False, True]
    assert unlocked.texts() == ["it runs", "not asked for", "asked for"]
