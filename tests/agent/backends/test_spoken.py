"""Programs that do not behave: each is a few lines of Python that speak ACP, badly."""

import sys
from pathlib import Path

import pytest
from support.backends import Row
from support.watched import Watched

from culture.agent.backends.acp import session
from culture.agent.contract import SessionSpec
from culture.errors import TemporaryError, UnavailableError

# An agent that answers what it has an answer for, and otherwise does what the test says.
AGENT = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize": answer = {"protocolVersion": VERSION, "agentInfo": {"version": "0.99.1"}}
        case "session/new": answer = {"sessionId": "s1"}
        case _: answer = None
    BODY
    if answer is not None: say(id=asked["id"], result=answer)
"""


PROMPTED = "if asked.get('method') == 'session/prompt': "


def refusing(code: int, words: str) -> str:
    """No session begins."""
    error = f"say(id=asked['id'], error={{'code': {code}, 'message': '{words}'}})"
    return f"if asked.get('method') == 'session/new': {error}; answer = None"


def agent(tmp_path: Path, body: str = "pass", version: int = 1, name: str = "odd-agent") -> Watched:
    program = tmp_path / name
    code = AGENT.replace("VERSION", str(version)).replace("BODY", body.replace("\n", "\n    "))
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    spec = SessionSpec(tmp_path, "You are it.", {}, "", "medium", command=(str(program),))
    return Watched(Row("acp"), spec)


@pytest.mark.parametrize(
    ("body", "version", "words"),
    [
        ("sys.exit('no key')", 1, "the odd-agent program ended with status 1: no key"),
        (refusing(1, "full"), 1, "odd-agent did not start: full"),
        (refusing(-32000, "x"), 1, "odd-agent is not logged in"),
        ("pass", 2, "odd-agent does not speak version 1 of ACP"),
    ],
)
async def test_one_that_does_not_start_says_why(tmp_path, body, version, words):
    watched = agent(tmp_path, body, version)

    with pytest.raises((TemporaryError, UnavailableError), match=words):
        await watched.runner.start()

    assert not watched.runner.is_running()
    assert watched.exits == []


async def test_one_that_is_not_there_is_named_with_what_installs_it(tmp_path):
    spec = SessionSpec(tmp_path, "", {"PATH": str(tmp_path)}, "", "medium", command=("cline",))

    with pytest.raises(UnavailableError, match="'cline' is not on PATH") as missing:
        await Watched(Row("acp"), spec).runner.start()

    assert missing.value.hint == "npm install -g cline@latest"


async def test_one_that_does_not_let_go_of_a_turn_is_ended(tmp_path, monkeypatch, eventually):
    monkeypatch.setattr(session, "CANCEL_S", 0.1)
    watched = agent(tmp_path)
    await watched.runner.start("hello")
    await eventually(lambda: watched.runner._jobs.current)

    await watched.runner.interrupt()

    await eventually(lambda: watched.exits)
    assert [result.failed for result in watched.results()] == [True]
    assert not watched.runner.is_running()


async def test_one_that_closes_its_output_is_taken_for_dead(tmp_path, eventually):
    watched = agent(tmp_path, PROMPTED + "import os; os.close(1)")
    await watched.runner.start("hello")

    await eventually(lambda: watched.exits)

    assert len(watched.results()) == 1


async def test_its_last_words_are_in_the_result_of_the_turn_it_died_of(tmp_path, eventually):
    watched = agent(tmp_path, PROMPTED + "sys.exit('out of memory')")
    await watched.runner.start("hello")

    assert await eventually(lambda: watched.exits) == [1]
    [result] = watched.results()
    assert result.error == "the odd-agent program ended with status 1: out of memory"


REASONS = [
    ("end_turn", ""),
    ("max_tokens", "the reply was cut off: the model gives no more tokens"),
    ("refusal", "the model refuses to answer"),
    ("moonlight", "the agent stopped: moonlight"),
]


@pytest.mark.parametrize(("reason", "error"), REASONS)
async def test_a_turn_that_stops_for_another_reason_has_failed(tmp_path, eventually, reason, error):
    watched = agent(tmp_path, f"{PROMPTED}answer = {{'stopReason': '{reason}'}}")
    await watched.runner.start("hello")

    [result] = await eventually(watched.results)

    assert (result.failed, result.error) == (bool(error), error)
    await watched.runner.stop()


async def test_what_it_asks_and_we_do_not_offer_is_answered_so(tmp_path, eventually):
    """agentclientprotocol.com, initialization: capabilities that are not told are not there."""
    body = f"""{PROMPTED}say(id='r', method='fs/read_text_file', params={{}})
if asked.get('id') == 'r':
    text = {{'type': 'text', 'text': asked['error']['message']}}
    update = {{'sessionUpdate': 'agent_message_chunk', 'content': text}}
    say(method='session/update', params={{'sessionId': 's1', 'update': update}})
    say(id=3, result={{'stopReason': 'end_turn'}})"""
    watched = agent(tmp_path, body)
    await watched.runner.start("hello")
    await eventually(watched.results)

    assert watched.texts() == ["culture does not offer fs/read_text_file"]
    await watched.runner.stop()


async def test_one_that_does_not_keep_to_the_protocol_is_ended_and_it_is_told_how(tmp_path, eventually):
    watched = agent(tmp_path, PROMPTED + "say(method='session/update', params={'sessionId': 's1'})")
    await watched.runner.start("hello")
    life = watched.runner._life.task

    await eventually(lambda: watched.exits)

    assert len(watched.results()) == 1
    with pytest.raises(ExceptionGroup):
        await life


# Refuses to compact, and keeps under which settings it went on.
STUBBORN = """if asked.get('method') == 'session/resume':
    print(asked['params']['_meta']['claudeCode']['options'].get('verbatimPrompts'), file=open('resumed', 'a'))
    answer = {}
if asked.get('method') == 'session/prompt': say(id=asked['id'], error={'code': 1, 'message': 'too short'})"""


async def test_after_a_command_of_ours_commands_are_text_again_even_if_it_failed(tmp_path, eventually):
    watched = agent(tmp_path, STUBBORN, name="claude-agent-acp")
    await watched.runner.start()
    await watched.runner.compact()

    [context] = await eventually(watched.contexts)

    assert context.error == "too short"
    assert (tmp_path / "resumed").read_text() == "None\nTrue\n"
    await watched.runner.stop()


async def test_one_that_would_go_on_running_commands_is_ended(tmp_path, eventually):
    second = (
        STUBBORN
        + """
if answer == {} and open('resumed').read().count('\\n') == 2:
    answer = None
    say(id=asked['id'], error={'code': 1, 'message': 'no'})"""
    )
    watched = agent(tmp_path, second, name="claude-agent-acp")
    await watched.runner.start()
    await watched.runner.compact()

    await eventually(lambda: watched.exits)

    assert [context.failed for context in watched.contexts()] == [True]
