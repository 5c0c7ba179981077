"""The real Claude CLI, through its SDK, against the rehearsal model."""

import json
import os
import sys
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from culture.rehearsal.environment import environment
from culture.rehearsal.script import DEFAULT, load_script

# Keeps the words of each call, one call to a file, in the place of the skill's own client.
IRC = f"""#!{sys.executable}
import json, pathlib, sys
calls = pathlib.Path(__file__).with_name("calls")
calls.mkdir(exist_ok=True)
(calls / str(len(list(calls.iterdir())))).write_text(json.dumps(sys.argv[1:]))
print("one\\ntwo\\nthree") if sys.argv[1] == "read" else None
"""


@pytest.fixture
def skill(tmp_path) -> Path:
    """A directory for the PATH, with an `irc` in it."""
    program = tmp_path / "bin" / "irc"
    program.parent.mkdir()
    program.write_text(IRC)
    program.chmod(0o755)
    return program.parent


def calls(skill: Path) -> list[list[str]]:
    return [json.loads(path.read_text()) for path in sorted((skill / "calls").iterdir())]


def options(url: str, skill: Path) -> ClaudeAgentOptions:
    home = skill.parent / "home"
    home.mkdir()
    env = environment(url) | {
        "HOME": str(home),
        "PATH": f"{skill}:{os.environ['PATH']}",
        # Set on some machines; it changes what the CLI permits.
        "IS_SANDBOX": "",
    }
    return ClaudeAgentOptions(
        env=env, cwd=home, allowed_tools=["Bash(irc:*)"], setting_sources=[], stderr=sys.stderr.write
    )


async def result_of(client: ClaudeSDKClient, prompt: str) -> ResultMessage:
    await client.query(prompt)
    [result] = [message async for message in client.receive_response() if isinstance(message, ResultMessage)]
    return result


async def test_an_agent_answers_on_irc_turn_after_turn(play, skill):
    hostile = "what's this; touch owned $(touch owned) \x02bold\x02 'a' \"b\" | cat > owned"
    async with play(load_script(DEFAULT)) as stage, ClaudeSDKClient(options(stage.url, skill)) as client:
        results = [
            await result_of(client, "[IRC @mention in #general] <spark-ori> @spark-claude hello"),
            await result_of(client, "[IRC @mention in #general] <spark-ori> @spark-claude read this"),
            await result_of(client, f"[IRC DM] <thor-bo> {hostile}"),
        ]

        rules = [asked.answer.rule for asked in stage.server.asked if not asked.is_aside]

    assert [result.result for result in results] == ["Answered on IRC."] * 3
    assert not any(result.is_error or result.permission_denials for result in results)
    greeting, read, told, repeated = calls(skill)
    assert greeting[:2] == ["send", "#general"]
    assert greeting[2].startswith("spark-ori: hello!")
    assert read == ["read", "#general"]
    assert told == ["send", "#general", "spark-ori: I have read what is here; lines I saw: 3"]
    assert repeated[:2] == ["send", "thor-bo"]
    assert hostile.replace("\x02", "") in repeated[2]
    assert not list(skill.parent.rglob("owned"))
    assert rules == [
        "greeting",
        "sent",
        "read the channel",
        "what I read",
        "sent",
        "anything else",
        "sent",
    ]
    assert results[0].usage["input_tokens"] > 1000


@pytest.mark.parametrize("fault", ["error: {status: 529}", "drop: true"])
async def test_the_cli_asks_again_when_the_model_fails_once(play, skill, fault):
    script = f"rules: [{{times: 1, answer: [{{{fault}}}]}}, {{answer: [{{text: here I am}}]}}]"
    async with play(script) as stage, ClaudeSDKClient(options(stage.url, skill)) as client:
        result = await result_of(client, "hello")

        assert [asked.answer.rule for asked in stage.server.asked] == ["rule 1", "rule 2"]

    assert (result.is_error, result.result) == (False, "here I am")


async def test_a_refusal_ends_the_turn_with_its_words(play, skill):
    script = "rules: [{answer: [{error: {status: 400, message: the script refuses}}]}]"
    async with play(script) as stage, ClaudeSDKClient(options(stage.url, skill)) as client:
        result = await result_of(client, "hello")

    assert result.is_error
    assert result.api_error_status == 400
    assert "the script refuses" in result.result
