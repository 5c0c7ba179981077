"""People stop, abort, pause and resume an agent, and nothing that they stopped is repeated."""

import asyncio
import getpass
import os
import re
import sys

import pytest
from support.irc import connected

from culture.agent.contract import ContextChanged
from culture.agent.inbox.control_words import ControlWord, control_word
from culture.client.events import Said
from culture.config.agents import TurnsConfig
from culture.errors import UnavailableError
from culture.store.agent.file import AgentFile

# People are told from guests by the user that their connection comes from.
PEOPLE = {"people": f"['unix:{getpass.getuser()}']"}
among_people = pytest.mark.parametrize("ircd", [PEOPLE], indirect=True, ids=["people"])

MENTION = "[IRC @mention in #general] <spark-ori> @spark-claude "
AGAIN = f"[IRC again] your last turn broke off: the next message was given to you before\n{MENTION}"


def said(text: str, channel: str | None = "#general") -> Said:
    return Said("spark-ori", channel, text, False, False, None, None, {})


@pytest.mark.parametrize(
    ("text", "channel", "word"),
    [
        ("@spark-claude stop", "#general", ControlWord.STOP),
        ("spark-claude: Stop!", "#general", ControlWord.STOP),
        ("SPARK-CLAUDE, abort.", "#general", ControlWord.ABORT),
        ("@spark-claude pause", "#general", ControlWord.PAUSE),
        ("resume", None, ControlWord.RESUME),
        ("stop", "#general", None),
        ("@spark-claude stop the server", "#general", None),
        ("@spark-other stop", "#general", None),
        ("please @spark-claude stop", "#general", None),
    ],
)
def test_only_the_word_itself_controls_an_agent(text: str, channel: str | None, word: ControlWord | None):
    assert control_word(said(text, channel), "spark-claude") is word


async def asked(agent, ori, eventually, text: str) -> None:
    """The question is with the backend."""
    so_far = len(agent.prompts)
    ori.send(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: len(agent.prompts) > so_far, 20)


def notes(agent) -> list[str]:
    return [row["note"] for row in agent.daemon.operations.queue_rows()]


@pytest.fixture
def culturectl(agent, home):
    """Runs it as a person who has the agent's socket in their home."""
    (home / "run").mkdir()
    (home / "run" / "spark-claude.sock").symlink_to(agent.socket)

    async def run(*words: str) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "culture.ctl.main", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "CULTURE_HOME": str(home), "SUDO_USER": "ori"},
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    return run


async def test_a_person_stops_the_running_turn_and_it_is_not_repeated(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    ori.send("PRIVMSG spark-claude :two")
    await eventually(lambda: agent.states() == ["injected", "queued"], 20)

    ori.send("PRIVMSG #general :@spark-claude stop")

    told = await ori.until("NOTICE #general")
    assert re.search(r":spark-ori: turn \w{4} was stopped by spark-ori$", told)
    assert agent.runner.interrupts == 1
    await eventually(lambda: agent.prompts == [f"{MENTION}one", "[IRC DM] <spark-ori> two"], 20)
    assert agent.states() == ["stopped", "injected"]
    assert notes(agent)[0] == "stopped by spark-ori"
    assert not any("failed" in line for line in ori.seen)


async def test_whoever_stops_a_turn_elsewhere_is_told_there(agent, ircd, ori, eventually):
    await asked(agent, ori, eventually, "one")
    async with connected(ircd.port, "spark-bo") as bo:
        bo.send("PRIVMSG spark-claude :stop")
        assert (await bo.until("NOTICE spark-bo")).endswith("was stopped by spark-bo")
    assert "was stopped by spark-bo" in await ori.until("NOTICE #general")


@among_people
async def test_there_may_be_nothing_to_stop(agent, ori):
    ori.send("PRIVMSG #general :@spark-claude stop")
    assert (await ori.until("NOTICE #general")).endswith(":spark-ori: no turn is running")
    ori.send("PRIVMSG #general :@spark-claude resume")
    assert (await ori.until("NOTICE #general")).endswith(":spark-ori: not paused")
    assert agent.prompts == []


async def test_an_agent_that_says_stop_is_not_obeyed(agent, ircd, ori, eventually):
    await asked(agent, ori, eventually, "one")
    async with connected(ircd.port, "spark-other", "#general", caps="message-tags") as other:
        other.send("MODE spark-other +B", "PRIVMSG #general :@spark-claude stop")
        await eventually(lambda: agent.states() == ["injected", "queued"], 20)
    assert agent.runner.interrupts == 0


async def test_who_may_not_start_a_turn_may_not_stop_one(ircd, ori, make_agent, eventually):
    agent = make_agent("spark-claude", allow_from=("spark-ori",))
    async with agent.running():
        await eventually(agent.is_present, 20)
        await asked(agent, ori, eventually, "one")
        async with connected(ircd.port, "spark-bo", "#general") as bo:
            bo.send("PRIVMSG #general :@spark-claude stop", "PING x")
            await bo.until("PONG")
        ori.send("PRIVMSG #general :@spark-claude status")
        await ori.until("NOTICE #general")
        assert agent.runner.interrupts == 0


async def test_a_backend_that_does_not_obey_is_ended_and_the_turn_stays_stopped(
    ori, make_agent, eventually, monkeypatch
):
    monkeypatch.setattr("culture.agent.turns.turn_loop.INTERRUPT_TIMEOUT_S", 0.05)
    agent = make_agent("spark-claude")
    async with agent.running():
        await eventually(agent.is_present, 20)
        agent.runner.obeys = False
        await asked(agent, ori, eventually, "one")
        ori.send("PRIVMSG #general :@spark-claude stop")

        assert "was stopped by spark-ori" in await ori.until("NOTICE #general")
        await eventually(lambda: len(agent.runners) == 2 and agent.runner.is_up, 20)
        await asked(agent, ori, eventually, "two")
        assert agent.prompts == [f"{MENTION}one", f"{MENTION}two"]
        assert agent.states() == ["stopped", "injected"]


async def test_a_stop_that_comes_while_the_agent_is_dead_counts_for_what_was_said_before(
    ori, make_agent, eventually
):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present, 20)
        await asked(first, ori, eventually, "one")
        first.kill()
        await ori.until("QUIT")
        ori.send("PRIVMSG #general :@spark-claude stop", "PRIVMSG #general :@spark-claude two", "PING x")
        await ori.until("PONG")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts == [f"{MENTION}two"], 20)
        assert second.states() == ["stopped", "injected"]


async def test_what_was_stopped_stays_so_if_a_pause_interrupts_it_too(agent, ori, eventually):
    agent.runner.obeys = False
    await asked(agent, ori, eventually, "one")
    agent.daemon.operations.stop_task("spark-ori")
    agent.daemon.operations.pause("for the night", interrupt=True)
    await eventually(lambda: agent.runner.interrupts, 20)
    # It does not say that the turn will be repeated.
    assert ":paused: for the night; hint: " in await ori.until("paused")

    await agent.runner.ends_turn("interrupted")

    assert "was stopped by spark-ori" in await ori.until("was stopped")
    assert agent.states() == ["stopped"]


async def test_culturectl_aborts_and_says_who(agent, ori, culturectl, eventually):
    await asked(agent, ori, eventually, "one")

    assert await culturectl("abort", "spark-claude") == (0, "", "")

    assert "was stopped by ori" in await ori.until("NOTICE #general")
    assert (agent.states(), notes(agent)) == (["stopped"], ["stopped by ori"])
    assert await culturectl("abort", "spark-claude") == (0, "", "spark-claude has nothing to stop\n")


async def test_a_queued_message_is_dropped_by_its_id(agent, ori, culturectl, eventually):
    await asked(agent, ori, eventually, "one")
    ori.send("PRIVMSG spark-claude :two")
    await eventually(lambda: agent.states() == ["injected", "queued"], 20)

    assert await culturectl("queue", "spark-claude", "--drop", "2") == (0, "", "")
    assert (await ori.until("NOTICE spark-ori")).endswith(":spark-ori: your message was dropped by ori")
    assert (agent.states(), notes(agent)[1]) == (["injected", "stopped"], "dropped by ori")

    for number, error in [
        ("1", "message 1 is being answered\nhint: stop the turn: culturectl abort spark-claude"),
        ("2", "message 2 does not wait for a turn: it is stopped"),
        ("3", "there is no message 3 in the queue\nhint: culturectl queue spark-claude"),
    ]:
        status, _, err = await culturectl("queue", "spark-claude", "--drop", number)
        assert (status, err) == (64, f"culturectl: {error}\n")


@among_people
async def test_a_pause_that_interrupts_says_so_and_the_turn_is_repeated(agent, ori, culturectl, eventually):
    await asked(agent, ori, eventually, "one")

    assert (await culturectl("pause", "spark-claude", "for the night", "--interrupt"))[0] == 0

    told = await ori.until("NOTICE #general :paused")
    assert re.search(r":paused: for the night; turn \w{4} is interrupted and repeated later; hint: ", told)
    await eventually(lambda: agent.states() == ["queued"], 20)
    ori.send("PRIVMSG #general :@spark-claude resume")
    await eventually(lambda: agent.prompts == [f"{MENTION}one", f"{AGAIN}one"], 20)
    assert not any("failed" in line for line in ori.seen)


@among_people
async def test_abort_gives_up_what_an_agent_was_paused_over_and_resumes_it(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    agent.daemon.operations.pause("it is stuck", interrupt=True)
    await eventually(lambda: agent.states() == ["queued"], 20)
    ori.send("PRIVMSG spark-claude :two")
    await eventually(lambda: agent.states() == ["queued", "queued"], 20)

    ori.send("PRIVMSG #general :@spark-claude abort")

    await eventually(lambda: agent.prompts == [f"{MENTION}one", "[IRC DM] <spark-ori> two"], 20)
    assert agent.states() == ["stopped", "injected"]


@among_people
async def test_abort_does_not_resume_an_agent_that_was_paused_over_nothing(agent, ori, culturectl):
    agent.daemon.operations.pause("for the night")
    ori.send("PRIVMSG #general :@spark-claude abort")
    assert (await ori.until("no turn is running")).endswith(":spark-ori: no turn is running")
    assert agent.daemon.operations.status().startswith("paused: for the night")


async def test_a_guest_stops_and_pauses_an_agent_and_cannot_let_it_go_on(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    ori.send("PRIVMSG #general :@spark-claude pause", "PRIVMSG #general :@spark-claude stop")
    await ori.until("was stopped by spark-ori")
    for word in ("resume", "abort"):
        ori.send(f"PRIVMSG #general :@spark-claude {word}")
        told = await ori.until(f"only people may {word}")
        assert told.endswith(f":spark-ori: only people may {word} an agent; log in to your account first")
    assert agent.daemon.operations.status().startswith("paused: by spark-ori")
    assert agent.states() == ["stopped"]


@among_people
async def test_a_person_pauses_and_resumes_on_irc(agent, ori, eventually):
    ori.send("PRIVMSG #general :@spark-claude pause")
    assert "paused: by spark-ori" in await ori.until("NOTICE #general")
    ori.send("PRIVMSG #general :@spark-claude one")
    await eventually(lambda: agent.states() == ["queued"], 20)
    ori.send("PRIVMSG spark-claude :resume")
    await eventually(lambda: agent.prompts, 20)


@pytest.mark.parametrize("fresh", [False, True])
async def test_a_restart_repeats_the_turn_with_the_old_or_a_new_session(
    agent, ori, culturectl, eventually, fresh
):
    await asked(agent, ori, eventually, "one")

    options = ["--fresh"] if fresh else []
    assert await culturectl("restart", "spark-claude", *options) == (0, "", "")

    told = await ori.until("NOTICE #general")
    assert told.endswith(":restarted by ori" + (" with a new session" if fresh else ""))
    await eventually(lambda: agent.prompts == [f"{MENTION}one", f"{AGAIN}one"], 20)
    assert agent.runner.resume == ("" if fresh else "by-hand")
    assert not agent.runners[0].is_up


async def test_a_shutdown_by_the_socket_ends_the_agent_in_good_order(ori, make_agent, eventually):
    agent = make_agent("spark-claude")
    async with agent.running() as running:
        await eventually(agent.is_present, 20)
        await asked(agent, ori, eventually, "one")
        await agent.daemon.handle({"type": "shutdown", "by": "person"})
        async with asyncio.timeout(20):
            await running
        assert "QUIT :Quit: stopping" in await ori.until(" QUIT ")
    left = AgentFile(agent.file.directory)
    assert [entry.state for entry in left.queue.last(20)] == ["queued"]
    left.close()


async def test_requests_of_the_first_design_are_understood(agent, ori, eventually):
    handle = agent.daemon.handle
    await handle({"type": "pause", "by": "person"})
    assert "paused: by request" in await ori.until("NOTICE #general")
    await handle({"type": "resume", "by": "person"})
    assert await handle({"type": "compact_context", "by": "person"}) == {"was": "compacted"}
    assert await handle({"type": "clear_context", "by": "agent"}) == {"will_be": "cleared"}
    await asked(agent, ori, eventually, "one")
    assert agent.prompts == [f"[IRC note] your context was cleared\n{MENTION}one"]


async def test_a_person_reads_why_a_context_was_not_compacted(agent):
    async def fails() -> None:
        await agent.runner.on_message(ContextChanged("compacted", "there is nothing to compact"))

    agent.runner.compact = fails
    with pytest.raises(UnavailableError, match="the context was not compacted: there is nothing to compact"):
        await agent.daemon.handle({"type": "compact", "by": "person"})


async def test_what_waits_for_its_turn_is_stopped_only_by_its_id(ori, make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig())
    async with agent.running():
        await eventually(agent.is_present, 20)
        agent.daemon.operations.pause("for the night")
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.states() == ["queued"], 20)
        ori.send("PRIVMSG #general :@spark-claude stop")
        await ori.until("no turn is running")
        assert agent.states() == ["queued"]
