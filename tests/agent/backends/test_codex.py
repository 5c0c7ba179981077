"""What is particular to the real codex program; what every backend does is in contract/."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.backends import ROWS, installed
from support.watched import OK, ends, processes

from culture.agent.backend.permission import REFUSAL, only_irc
from culture.agent.backends.codex import settings
from culture.agent.backends.table import BACKENDS
from culture.agent.contract import RateLimit, Usage
from culture.errors import UnavailableError
from culture.rehearsal.script import Script, ScriptRule, ScriptStep, ToolStep


@pytest.fixture
def row():
    return ROWS["codex"]


def running(command: str) -> Script:
    """A model that runs this, and then says what came of it, or that it was told not to."""
    run = ScriptRule(answer=(ScriptStep(tool=ToolStep("Bash", {"command": command})),), times=1)
    told = ScriptRule(answer=(ScriptStep(text="{output}"),), after_tool="any")
    return Script((run, told, ScriptRule(answer=(ScriptStep(text="refused"),))))


# How it is started


@pytest.mark.slow
async def test_without_a_login_and_a_key_it_does_not_start(start, spec):
    with pytest.raises(UnavailableError, match="codex is not logged in, and has no key") as told:
        await start(env={**spec.env, settings.KEY: ""})

    assert told.value.hint == "log in, or set key_credential, a key for OPENAI_API_KEY"


@pytest.mark.slow
async def test_the_program_itself_runs_without_node_around_it(agent, mark):
    [command] = [each for each in processes(mark).values() if "app-server" in each]

    assert "/vendor/" in command.split()[0]
    assert "node" not in command.split()[0].split("/")
    # Only that a key is to be looked for in the environment.
    assert "rehearsal" not in command.replace("rehearsal.", "")


def test_what_npm_puts_on_path_stands_for_the_program_beside_it(tmp_path, spec):
    module = tmp_path / "lib" / "node_modules" / "@openai"
    wrapper = file(module / "codex" / "bin" / "codex.js")
    native = file(module / "codex-linux-x64" / "vendor" / "x86_64-unknown-linux-musl" / "bin" / "codex")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(wrapper)

    assert settings.command(spec, {"PATH": str(tmp_path / "bin")})[0] == str(native)


def test_a_program_that_is_no_wrapper_is_taken_as_it_is(tmp_path, spec):
    program = file(tmp_path / "codex")

    assert settings.command(spec, {"PATH": str(tmp_path)})[:2] == (str(program), "app-server")
    configured = replace(spec, command=(str(program), "--enable", "x"))
    assert settings.command(configured, {})[:4] == (str(program), "--enable", "x", "app-server")


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return path


def test_a_program_that_would_not_ask_about_everything_is_not_taken():
    settings.check_version("culture/0.166.0 (Debian 12.0.0; x86_64) unknown (culture; 1)")
    for old in ("culture/0.165.9 (Debian)", "codex_cli_rs/0.98.0", "something else"):
        with pytest.raises(UnavailableError, match=r"at least 0\.166\.0 is needed"):
            settings.check_version(old)


@pytest.mark.slow
@pytest.mark.parametrize("judge", [None, only_irc()])
def test_every_setting_is_one_that_codex_knows(spec, judge):
    words = settings.command(replace(spec, judge=judge), spec.env)

    check = [*words, "--strict-config", "--print-startup-config"]
    done = subprocess.run(check, env=spec.env, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 0, done.stderr


async def test_without_a_program_it_says_how_to_get_one(spec, tmp_path):
    runner = BACKENDS["codex"](replace(spec, env={**spec.env, "PATH": str(tmp_path)}))

    with pytest.raises(UnavailableError, match="'codex' is not on PATH") as missing:
        await runner.start()
    assert missing.value.hint == "npm install -g @openai/codex"


@pytest.mark.parametrize(
    ("env", "provider"),
    [
        ({}, None),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, None),
        ({"OPENAI_API_KEY": "sk-1"}, "https://api.openai.com/v1"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "http://127.0.0.1:1/v1"),
    ],
)
def test_a_key_in_the_environment_chooses_the_api(spec, env, provider):
    words = settings.command(spec, env)

    expected = [] if provider is None else [f'model_providers.culture.base_url="{provider}"']
    assert [word for word in words if "base_url" in word] == expected
    assert not any("sk-1" in word for word in words)


# permission_mode


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ls", "cat /etc/hostname", "irc send '#g' hi; touch owned", "pwd"])
async def test_deny_refuses_also_what_only_reads(start, model, home, eventually, command):
    agent = await start(judge=only_irc())
    model.play(running(command))
    await agent.runner.send_prompt("go")

    await ends(agent, eventually)

    assert agent.texts() == ["refused"]
    assert REFUSAL in model.prompts()
    assert not (home / "work" / "owned").exists()
    assert not (home / "said").exists()


@pytest.mark.slow
async def test_deny_lets_the_skill_speak(start, model, home, eventually):
    agent = await start(judge=only_irc())
    await agent.runner.send_prompt("[IRC @mention in #general] <spark-ori> @spark-agent ping")
    await ends(agent, eventually)

    assert (home / "said").read_text() == "['send', '#general', 'spark-ori: pong']\n"


@pytest.mark.slow
async def test_bypass_asks_nobody(start, model, home, eventually):
    agent = await start(judge=None)
    model.play(running("touch done"))
    await agent.runner.send_prompt("go")

    await ends(agent, eventually)

    assert (home / "work" / "done").exists()


@pytest.mark.slow
async def test_a_judge_is_offered_nothing_that_would_go_past_it(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await ends(agent, eventually)

    tools = model.server.asked[-1].request.body["tools"]
    assert {tool["name"] for tool in tools} == {"exec_command", "write_stdin", "request_user_input"}


PATCH = """apply_patch <<'EOF'
*** Begin Patch
*** Add File: owned
+x
*** End Patch
EOF"""


@pytest.mark.slow
async def test_a_change_to_files_is_judged(agent, model, judge, home, eventually):
    judge.refuses = True
    model.play(running(PATCH))
    await agent.runner.send_prompt("go")
    await ends(agent, eventually)
    assert not (home / "work" / "owned").exists()

    judge.refuses = False
    model.play(running(PATCH))
    await agent.runner.send_prompt("go")
    await ends(agent, eventually, 2)

    assert (home / "work" / "owned").read_text() == "x\n"
    assert [request.tool for request in judge.asked] == ["apply_patch", "apply_patch"]
    assert judge.asked[0].input["changes"][0]["path"].endswith("owned")


SERVER = """
from mcp.server import MCPServer
server = MCPServer("x")
@server.tool()
def look() -> str:
    return "seen"
server.run()
"""


@pytest.mark.slow
async def test_a_tool_of_a_server_that_its_user_has_is_judged(start, model, judge, home, eventually):
    (home / "server.py").write_text(SERVER)
    (home / "home" / ".codex").mkdir()
    server = f"[mcp_servers.x]\ncommand = '{sys.executable}'\nargs = ['{home}/server.py']\nrequired = true\n"
    (home / "home" / ".codex" / "config.toml").write_text(server)
    agent = await start()
    for refuses, said in ((True, "refused"), (False, "seen")):
        judge.refuses = refuses
        run = ScriptRule(answer=(ScriptStep(tool=ToolStep("mcp__x.look")),), times=1)
        model.play(Script((run, *running("").rules[1:])))
        await agent.runner.send_prompt("go")
        await ends(agent, eventually, len(agent.results()) + 1)
        assert said in agent.texts()[-1]

    assert [request.tool for request in judge.asked] == ["mcp:x", "mcp:x"]


@pytest.mark.slow
async def test_a_question_to_whoever_sits_there_is_not_waited_for(agent, model, eventually):
    question = {
        "id": "q",
        "header": "h",
        "question": "which?",
        "options": [{"label": "a", "description": "b"}],
    }
    ask = ScriptRule(answer=(ScriptStep(tool=ToolStep("request_user_input", {"questions": [question]})),))
    model.play(Script((ScriptRule(answer=(ScriptStep(text="alone"),), after_tool="any"), ask)))
    await agent.runner.send_prompt("go")

    await ends(agent, eventually)

    assert agent.texts() == ["alone"]


# Its shell


@pytest.mark.slow
async def test_no_profile_of_a_login_shell_changes_what_the_agent_finds(start, spec, model, home, eventually):
    (home / "home" / ".bash_profile").write_text("export PATH=/nowhere\ntouch ~/logged-in\n")
    agent = await start(judge=None)
    model.play(running("command -v irc"))
    await agent.runner.send_prompt("go")

    await ends(agent, eventually)

    assert agent.texts()[-1].strip() == f"{home}/bin/irc"
    assert not (home / "home" / "logged-in").exists()


@pytest.mark.slow
async def test_the_model_thinks_as_hard_as_is_configured(start, model, eventually):
    model.play(OK)
    agent = await start("hello", thinking="max")
    await ends(agent, eventually)

    assert '"effort": "xhigh"' in json.dumps(model.server.asked[-1].request.body)


@pytest.mark.slow
async def test_effort_is_for_one_prompt_and_no_longer(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("one", effort="max")
    await agent.runner.send_prompt("two")
    await ends(agent, eventually, 2)

    efforts = [each.request.body["reasoning"]["effort"] for each in model.server.asked]
    assert efforts == ["xhigh", "medium"]


RESET_S = int(time.time()) + 3600
LIMITED = f"""
rules:
  - prompt: ^more
    headers:
      x-codex-primary-used-percent: '100'
      x-codex-primary-window-minutes: '300'
      x-codex-primary-reset-at: '{RESET_S}'
    answer: [{{error: {{status: 429, type: usage_limit_reached}}}}]
  - headers:
      x-codex-primary-used-percent: '40'
      x-codex-primary-window-minutes: '300'
      x-codex-primary-reset-at: '{RESET_S}'
    answer: [{{text: ok}}]
    usage: {{input_tokens: 1000, output_tokens: 10}}
"""


@pytest.mark.slow
async def test_the_quota_of_a_plan_is_reported_with_its_reset(agent, model, eventually):
    model.play(LIMITED)
    await agent.runner.send_prompt("hello")
    await agent.runner.send_prompt("more")

    [first, second] = await ends(agent, eventually, 2)

    limits = [message for message in agent.messages if isinstance(message, RateLimit)]
    assert limits[0] == RateLimit(False, "five_hour", 0.4, RESET_S)
    assert limits[-1] == RateLimit(True, "five_hour", 1.0, RESET_S)
    assert (first.status, second.status) == (None, 429)
    # The program repeats the figures of the turn before.
    assert (first.usage, second.usage) == (Usage(1000, 0, 10), Usage())


@pytest.mark.slow
async def test_a_fork_knows_the_conversation_and_has_no_shell(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("the colour is vermilion")
    await ends(agent, eventually)

    answer = await agent.runner.ask_aside("which colour?")

    assert answer.text == "ok"
    request = model.server.asked[-1].request
    assert "vermilion" in json.dumps(request.body)
    assert not {"shell", "exec_command", "apply_patch"} & set(request.conversation.tools)


@pytest.mark.slow
async def test_a_stream_that_always_breaks_off_is_a_failed_turn(agent, model, eventually):
    model.play("rules: [{answer: [{text: half a reply}, {drop: true}]}]")
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert result.failed
    assert result.error


def test_scripts_clis_has_it():
    assert any((Path(place) / "codex").exists() for place in installed().split(os.pathsep))
