"""A backend that dies, hangs or fails: nothing that was asked is lost, and somebody is told."""

import asyncio
import logging
import re

import pytest
from support.irc import connected

from culture.agent.contract import SupervisorBase
from culture.agent.turns.gate import HeldBack, HoldKind, OpenGate
from culture.agent.turns.retry import RULES, RetryRule
from culture.config.agents import TurnsConfig
from culture.errors import ConfigError, TemporaryError, UnavailableError
from culture.store.agent.queue import QueuedMessage

MENTION = "[IRC @mention in #general] <spark-ori> @spark-claude "
AGAIN = f"[IRC again] your last turn broke off: the next message was given to you before\n{MENTION}"


async def asked(agent, ori, eventually, text: str) -> None:
    """The question is with the backend."""
    so_far = len(agent.prompts)
    ori.send(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: len(agent.prompts) > so_far)


async def test_a_crash_is_told_and_the_question_is_asked_again_as_a_repeat(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")

    await agent.runner.dies()

    told = await ori.until("NOTICE #general")
    assert re.search(
        r":spark-ori: turn \w{4} broke off: claude ended with status -9; starting it again in", told
    )
    await eventually(lambda: len(agent.prompts) == 2)
    assert agent.prompts == [f"{MENTION}one", f"{AGAIN}one"]
    assert [runner.resume for runner in agent.runners] == ["", "by-hand"]

    await agent.runner.ends_turn()
    assert agent.states() == ["silent"]


async def test_what_was_answered_before_the_crash_is_told_and_not_asked_again(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    await agent.daemon.handle({"type": "irc_send", "channel": "#general", "message": "here you are"})
    await ori.until("here you are")
    assert agent.states() == ["answered"]

    await agent.runner.dies()

    assert re.search(r":spark-ori: turn \w{4} broke off: claude ended", await ori.until("NOTICE #general"))
    await eventually(lambda: len(agent.runners) == 2 and agent.runner.is_up)
    await asked(agent, ori, eventually, "two")
    assert agent.prompts == [f"{MENTION}one", f"{MENTION}two"]


async def test_three_crashes_pause_it_and_it_says_so_once(agent, ori, eventually):
    for number in (1, 2):
        await eventually(lambda: agent.runner.is_up)
        await agent.runner.dies()
        await eventually(lambda count=number: len(agent.runners) == count + 1)
    await eventually(lambda: agent.runner.is_up)

    await agent.runner.dies()

    told = await ori.until("NOTICE #general :paused")
    assert "3 crashes within 300 s, the last one: claude ended with status -9" in told
    assert "hint: culturectl resume spark-claude" in told
    assert agent.statuses[-1].startswith("paused: 3 crashes within 300 s")
    ori.send("PRIVMSG #general :@spark-claude are you there?")
    await eventually(lambda: agent.states() == ["queued"])
    assert len(agent.runners) == 3

    assert agent.daemon.operations.resume()
    await eventually(lambda: agent.prompts == [f"{MENTION}are you there?"])
    assert (await ori.until("NOTICE #general")).endswith(":resumed")
    assert not agent.daemon.operations.resume()


async def test_a_paused_agent_is_paused_after_a_restart(make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        first.daemon.operations.pause("the disk is full")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
        assert second.statuses[-1] == "paused: the disk is full"
        assert second.runners == []
        second.daemon.operations.resume()
        await eventually(lambda: second.runners and second.runner.is_up)


async def test_a_question_that_kills_every_backend_is_given_up(ori, make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig(restart_delay_s=0, crashes=2, crash_window_s=0))
    async with agent.running():
        await eventually(agent.is_present)
        await asked(agent, ori, eventually, "die")
        await agent.runner.dies()
        await eventually(lambda: len(agent.prompts) == 2)
        await agent.runner.dies()

        told = await ori.until("given up")
        assert told.endswith(":spark-ori: given up: 2 turns with your message ended in a crash")
        await eventually(lambda: len(agent.runners) == 3 and agent.runner.is_up)
        assert agent.states() == ["expired"]
        await asked(agent, ori, eventually, "live")
        assert agent.prompts[-1] == f"{MENTION}live"


async def test_a_stalled_turn_is_interrupted_and_reported(ori, make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig(stall_timeout_s=0.05))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")

        told = await ori.until("NOTICE #general")

        assert "failed: no activity for 0 s" in told
        assert agent.runner.interrupts == 1
        assert agent.states() == ["expired"]


async def test_a_backend_that_does_not_obey_is_ended_by_force(ori, make_agent, eventually, monkeypatch):
    monkeypatch.setattr("culture.agent.turns.turn_loop.INTERRUPT_TIMEOUT_S", 0.05)
    agent = make_agent("spark-claude", limits=TurnsConfig(stall_timeout_s=0.3, restart_delay_s=0))
    async with agent.running():
        await eventually(agent.is_present)
        agent.runner.obeys = False
        ori.send("PRIVMSG #general :@spark-claude one")

        told = await ori.until("NOTICE #general")

        assert "the turn did not end when it was interrupted" in told
        await eventually(lambda: len(agent.prompts) == 2)
        assert not agent.runners[0].is_up


async def test_a_refused_key_is_told_once_and_not_tried_again(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")

    await agent.runner.ends_turn("the key was refused (status 401)", status=401)

    told = await ori.until("NOTICE #general")
    assert re.search(r":spark-ori: turn \w{4} failed: the key was refused \(status 401\)$", told)
    assert agent.daemon.operations.status() == (
        "not working: the key was refused (status 401): culturectl login spark-claude"
    )
    assert agent.states() == ["expired"]


async def test_a_busy_model_is_asked_again_and_its_failure_told_once(agent, ori, eventually, monkeypatch):
    monkeypatch.setitem(RULES, 529, RetryRule(times=None, first_s=0.01, longest_s=0.01))
    await asked(agent, ori, eventually, "one")

    await agent.runner.ends_turn("the model is overloaded (status 529)", status=529)
    told = await ori.until("NOTICE #general")
    assert "failed: the model is overloaded (status 529); trying again in 0 s" in told
    await eventually(lambda: len(agent.prompts) == 2)
    await agent.runner.ends_turn("the model is overloaded (status 529)", status=529)
    await eventually(lambda: len(agent.prompts) == 3)
    await agent.runner.ends_turn()
    ori.send("PING done")
    await ori.until("PONG")

    assert agent.states() == ["silent"]
    assert sum("failed" in line for line in ori.seen) == 1
    assert agent.prompts == [f"{MENTION}one", f"{AGAIN}one", f"{AGAIN}one"]


async def test_a_backend_that_only_a_person_can_mend_ends_the_daemon_for_good(make_agent, ori):
    agent = make_agent("spark-claude")
    agent.start_error = UnavailableError("codex is not logged in", hint="codex login")
    async with agent.running() as running:
        with pytest.raises(ConfigError) as told:
            async with asyncio.timeout(10):
                await running

    what = "codex is not logged in: culturectl login spark-claude"
    assert told.value.problems == (("backend 'claude'", what, "codex login"),)
    assert f"QUIT :Quit: ending: backend 'claude': {what}" in await ori.until(" QUIT ")


async def test_whoever_asks_an_agent_that_is_not_logged_in_reads_what_logs_it_in(agent, ori, eventually):
    ori.send("PRIVMSG #general :@spark-claude one")
    await eventually(lambda: agent.prompts)
    await agent.runner.ends_turn("Not logged in · Please run /login")

    told = "Not logged in: culturectl login spark-claude"
    assert (await ori.until("NOTICE #general")).endswith(f"failed: {told}")
    assert agent.daemon.operations.status() == f"not working: {told}"
    assert agent.daemon.operations.status_screen()["last_error"] == told

    ori.send("PRIVMSG #general :@spark-claude two")
    await eventually(lambda: len(agent.prompts) == 2)
    await agent.runner.ends_turn()
    await eventually(lambda: agent.daemon.operations.status().startswith("idle"))


async def test_a_backend_that_does_not_start_at_first_ends_the_daemon(make_agent):
    agent = make_agent("spark-claude")
    agent.start_error = TemporaryError("claude did not start: no such model")
    async with agent.running() as running:
        with pytest.raises(TemporaryError, match="no such model"):
            async with asyncio.timeout(10):
                await running


async def test_a_backend_that_does_not_start_again_is_tried_until_it_is_too_often(agent, ori, eventually):
    agent.start_error = TemporaryError("claude did not start: no such model")

    await agent.runner.dies()

    assert "the last one: claude did not start: no such model" in await ori.until("NOTICE #general :paused")


async def test_what_the_gate_holds_back_waits(ori, make_agent, eventually):
    class Gate(OpenGate):
        why: HeldBack | None = HeldBack(HoldKind.BUDGET, "no budget is left")

        def holds_back(self, entries):
            return self.why

    gate = Gate()
    agent = make_agent("spark-claude", gate=gate)
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.statuses[-1] == "held back: no budget is left; 1 waiting")
        assert agent.prompts == []

        gate.why = None
        ori.send("PRIVMSG spark-claude :two")
        await eventually(lambda: agent.prompts)


async def test_a_conversation_that_is_held_back_as_a_loop_does_not_hold_back_others(
    ori, make_agent, eventually
):
    class Gate(OpenGate):
        def holds_back(self, entries):
            is_loop = entries[0].question.channel == "#general"
            return HeldBack(HoldKind.LOOP, "agents answered each other 6 times") if is_loop else None

    agent = make_agent("spark-claude", gate=Gate())
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.prompts == ["[IRC DM] <spark-ori> two"])
        await agent.runner.ends_turn()
        await eventually(lambda: agent.statuses[-1].startswith("held back: agents answered each other"))
        assert agent.states() == ["queued", "silent"]


async def test_what_nobody_had_time_for_is_given_up_and_told(ori, make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig(expiry_s=0.3))
    async with agent.running():
        await eventually(agent.is_present)
        await asked(agent, ori, eventually, "one")
        ori.send("PRIVMSG #general :@spark-claude two")

        told = await ori.until("NOTICE #general")

        assert told.endswith(":spark-ori: given up: your message waited for more than 0 s")
        assert agent.states() == ["injected", "expired"]


async def test_a_flood_does_not_fill_the_disk_and_is_told_once(agent, ori, eventually, monkeypatch):
    monkeypatch.setattr("culture.agent.turns.queue_limits.MAX_QUEUED", 2)
    await asked(agent, ori, eventually, "one")

    ori.send(*(f"PRIVMSG #general :@spark-claude {number}" for number in range(5)), "PING x")
    await ori.until("PONG")

    await eventually(lambda: agent.states() == ["injected", "queued", "queued"] + 3 * ["expired"])
    assert "not queued: 2 messages are already waiting for this agent" in await ori.until("NOTICE #general")
    ori.send("PING y")
    await ori.until("PONG")
    assert sum("not queued" in line for line in ori.seen) == 1


async def test_each_who_is_given_up_as_too_much_waits_is_told(agent, ircd, ori, eventually, monkeypatch):
    monkeypatch.setattr("culture.agent.turns.queue_limits.MAX_QUEUED", 1)
    await asked(agent, ori, eventually, "one")
    ori.send("PRIVMSG #general :@spark-claude two", "PRIVMSG #general :@spark-claude three")
    await ori.until("NOTICE #general :spark-ori: not queued: 1 messages are already waiting for this agent")

    async with connected(ircd.port, "spark-bo", "#general") as bo:
        bo.send("PRIVMSG #general :@spark-claude four")
        await ori.until(
            "NOTICE #general :spark-bo: not queued: 1 messages are already waiting for this agent"
        )
        bo.send("PRIVMSG spark-claude :five")
        await bo.until("NOTICE spark-bo :spark-bo: not queued")

    # There is room, and then none.
    await agent.runner.ends_turn()
    await eventually(lambda: len(agent.prompts) == 2)
    ori.send("PRIVMSG #general :@spark-claude six", "PRIVMSG #general :@spark-claude seven")
    await ori.until("NOTICE #general :spark-ori: not queued")


async def test_one_sender_does_not_take_all_places(agent, ircd, ori, eventually, monkeypatch):
    monkeypatch.setattr("culture.agent.turns.queue_limits.MAX_QUEUED_PER_SENDER", 1)
    await asked(agent, ori, eventually, "one")
    ori.send("PRIVMSG #general :@spark-claude two", "PRIVMSG #general :@spark-claude three")
    await ori.until(
        "NOTICE #general :spark-ori: not queued: you already have 1 messages waiting for this agent"
    )

    async with connected(ircd.port, "spark-bo", "#general") as bo:
        bo.send("PRIVMSG #general :@spark-claude four")
        await eventually(lambda: agent.states() == ["injected", "queued", "expired", "queued"])


async def test_what_is_long_done_is_forgotten_also_while_no_turn_ends(ori, make_agent, eventually):
    agent = make_agent("spark-claude")
    queue = agent.file.queue
    with agent.file.at_once():
        queue.add(QueuedMessage("m1", "mention", "spark-ori", "#general", "one", 0), 0)
        queue.give_up(queue.waiting_since(1), "it waited too long", 0)
    async with agent.running():
        await eventually(agent.is_present)
        agent.daemon.operations.pause("the disk is full")
        ori.send("PRIVMSG #general :@spark-claude two")
        await eventually(lambda: "queued" in agent.states())

        await eventually(lambda: agent.states() == ["queued"])


async def test_a_supervisor_sees_all_and_whispers(ori, make_agent, eventually):
    class Supervisor(SupervisorBase):
        def __init__(self) -> None:
            self.calls: list[str] = []

        async def start(self) -> None:
            self.calls.append("start")

        async def stop(self) -> None:
            self.calls.append("stop")

        async def observe(self, turn) -> None:
            self.calls.append(type(turn).__name__)
            await self.on_whisper("ask for help", "CORRECTION")

    supervisor = Supervisor()
    agent = make_agent("spark-claude", supervisor=supervisor)
    async with agent.running():
        await eventually(agent.is_present)
        await asked(agent, ori, eventually, "one")
        await agent.runner.uses_a_tool()
        await agent.runner.ends_turn()
        assert [str(each) for each in agent.daemon.whispers.take()] == 2 * [
            "[SUPERVISOR/CORRECTION] ask for help"
        ]
    assert supervisor.calls == ["start", "Assistant", "Result", "stop"]


async def test_stopping_gives_nothing_up(ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        await asked(first, ori, eventually, "one")
        ori.send("PRIVMSG spark-claude :two")
        await eventually(lambda: first.states() == ["injected", "queued"])
    await ori.until("QUIT")
    assert not any("NOTICE" in line for line in ori.seen if line.startswith(":spark-claude!"))
    assert not first.runner.is_running()

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts == [f"{AGAIN}one"])
        assert second.runner.resume == "by-hand"
        await second.runner.ends_turn()
        await eventually(lambda: second.prompts[1:] == ["[IRC DM] <spark-ori> two"])


async def test_a_fresh_agent_begins_anew(make_agent, eventually):
    for _ in (1, 2):
        agent = make_agent("spark-claude", fresh=True)
        async with agent.running():
            await eventually(agent.is_present)
            assert agent.runner.resume == ""


async def test_figures_are_added_up_and_survive(ori, make_agent, eventually):
    for turns in (1, 2):
        agent = make_agent("spark-claude")
        async with agent.running():
            await eventually(agent.is_present)
            await asked(agent, ori, eventually, "one")
            await agent.runner.ends_turn()
            screen = agent.daemon.operations.status_screen()
            assert screen["today"] == screen["total"]
            assert screen["total"]["turns"] == turns
            assert screen["total"]["input_tokens"] == 90 * turns
            assert screen["total"]["cost_usd"] == pytest.approx(0.01 * turns)
            assert (screen["context"], screen["session"]) == (0.12, "by-hand")


async def test_the_journal_has_the_figures_of_a_turn(agent, ori, eventually, caplog):
    caplog.set_level(logging.INFO)
    await asked(agent, ori, eventually, "one")
    await agent.runner.ends_turn()

    ended = next(record.__dict__ for record in caplog.records if hasattr(record, "CULTURE_OUTCOME"))
    assert ended["CULTURE_OUTCOME"] == "silent"
    assert ended["CULTURE_COST_USD"] == "0.010000"
    tokens = [ended[f"CULTURE_{kind}_TOKENS"] for kind in ("INPUT", "CACHED", "OUTPUT")]
    assert tokens == ["90", "80", "4"]
    assert ended["CULTURE_MSGID"]
