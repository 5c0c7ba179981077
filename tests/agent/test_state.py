"""The state of an agent follows from facts, and is shown where people look."""

import asyncio
import json
from typing import ClassVar

import pytest
from support.irc import connected

from culture.agent.reporting.presence import Presence, away_message, metadata_value
from culture.agent.reporting.state import AgentState, Fact, Facts, Situation, situation_of
from culture.agent.turns.gate import HeldBack, HoldKind, OpenGate
from culture.config.agents import TurnsConfig

IDLE = Fact("", 100.0)
TURN = Fact("turn 3f2a for spark-ori in #ops", 200.0)


@pytest.mark.parametrize(
    ("facts", "state", "since_s"),
    [
        (Facts(IDLE), AgentState.IDLE, 100.0),
        (Facts(IDLE, turn=TURN), AgentState.WORKING, 200.0),
        (Facts(IDLE, turn=TURN, question=Fact("asked #ops", 250.0)), AgentState.WAITING_FOR_ANSWER, 250.0),
        (Facts(IDLE, question=Fact("asked #ops", 250.0)), AgentState.WAITING_FOR_ANSWER, 250.0),
        (Facts(IDLE, turn=TURN, stalled=Fact("no activity", 210.0)), AgentState.HUNG, 210.0),
        # A pause lets the running turn end.
        (Facts(IDLE, turn=TURN, paused=Fact("for the night", 300.0)), AgentState.WORKING, 200.0),
        (Facts(IDLE, paused=Fact("for the night", 300.0)), AgentState.PAUSED, 300.0),
        (Facts(IDLE, backend_down=Fact("claude ended", 300.0)), AgentState.DEAD, 300.0),
        # The circuit breaker pauses an agent whose backend is down.
        (
            Facts(IDLE, paused=Fact("3 crashes", 300.0), backend_down=Fact("claude ended", 290.0)),
            AgentState.PAUSED,
            300.0,
        ),
    ],
)
def test_the_state_follows_from_the_facts(facts: Facts, state: AgentState, since_s: float):
    assert situation_of(facts)[:2] == (state, since_s)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (HoldKind.ANSWER, AgentState.WAITING_FOR_ANSWER),
        (HoldKind.BUDGET, AgentState.WAITING_FOR_BUDGET),
        (HoldKind.QUOTA, AgentState.WAITING_FOR_QUOTA),
        (HoldKind.HALT, AgentState.HALTED),
        (HoldKind.LOOP, AgentState.WAITING_FOR_ANSWER),
    ],
)
def test_every_kind_of_gate_has_a_state(kind: HoldKind, state: AgentState):
    held = Facts(IDLE, held_back=Fact("why", 300.0), held_back_kind=kind)

    assert situation_of(held) == Situation(state, 300.0, "why")


def test_a_halt_comes_before_a_pause():
    held = Fact("by spark-ori", 300.0)
    facts = Facts(IDLE, paused=Fact("", 200.0), held_back=held, held_back_kind=HoldKind.HALT)

    assert situation_of(facts).state is AgentState.HALTED


def test_metadata_says_the_state_and_since_when_but_not_who_asked():
    situation = Situation(AgentState.WAITING_FOR_BUDGET, 0.0, "for spark-ori in private")

    assert metadata_value(situation) == "waiting-for-budget 1970-01-01T00:00:00.000Z"


def test_an_agent_is_away_when_it_does_not_answer_soon():
    assert away_message(Situation(AgentState.WORKING, 0.0, "turn 3f2a")) == ""
    assert away_message(Situation(AgentState.IDLE, 0.0, "")) == ""
    assert away_message(Situation(AgentState.PAUSED, 0.0, "for the night")) == "paused: for the night"
    long = away_message(Situation(AgentState.DEAD, 0.0, "é" * 500))
    assert len(long.encode()) <= 200


def state_of(agent) -> dict:
    return agent.daemon.operations.status_screen()["state"]


async def test_the_state_of_an_agent_follows_what_it_does(ori, make_agent, eventually):
    class Gate(OpenGate):
        reason: HeldBack | None = None

        def closed(self):
            return self.reason

    gate = Gate()
    agent = make_agent("spark-claude", gate=gate)
    async with agent.running():
        await eventually(agent.is_present, 20)
        assert state_of(agent)["state"] == "idle"

        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts, 20)
        working = state_of(agent)
        assert (working["state"], working["why"][:5]) == ("working", "turn ")
        agent.daemon.operations.pause("for the night")
        assert state_of(agent)["why"].endswith("; paused after it: for the night")

        await agent.runner.ends_turn()
        paused = state_of(agent)
        assert (paused["state"], paused["why"]) == ("paused", "for the night")
        assert state_of(agent) == paused

        agent.daemon.operations.resume()
        idle = state_of(agent)
        assert idle["state"] == "idle"
        assert idle["since"] >= working["since"]
        gate.reason = HeldBack(HoldKind.HALT, "halted by spark-ori")
        assert state_of(agent)["state"] == "halted"


async def test_an_agent_waits_for_an_answer_from_question_to_answer(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts, 20)
        question = {"type": "irc_ask", "channel": "#general", "question": "Which disk?", "timeout": 600}
        asking = asyncio.create_task(agent.daemon.handle(question))
        await ori.until("Which disk?")
        waiting = state_of(agent)
        assert (waiting["state"], waiting["why"]) == ("waiting for an answer", "asked in #general")

        asking.cancel()
        await eventually(lambda: state_of(agent)["state"] == "working", 20)
        # The question stays open when the turn has ended, and somebody is needed.
        await agent.runner.ends_turn()
        assert state_of(agent)["state"] == "waiting for an answer"


async def test_a_pause_keeps_its_beginning_across_a_restart(make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present, 20)
        first.daemon.operations.pause("for the night")
        before = state_of(first)
    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present, 20)
        assert state_of(second) == before


async def test_a_turn_that_shows_no_activity_is_hung(ori, make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig(stall_timeout_s=1.0))
    async with agent.running():
        await eventually(agent.is_present, 20)
        agent.runner.obeys = False
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts, 20)
        await eventually(lambda: state_of(agent)["state"] == "hung", 20)
        assert "has shown no activity for" in state_of(agent)["why"]


async def test_a_backend_that_died_is_dead(make_agent, eventually):
    agent = make_agent("spark-claude", limits=TurnsConfig(restart_delay_s=3600))
    async with agent.running():
        await eventually(agent.is_present, 20)
        await agent.runner.dies()
        dead = state_of(agent)
        assert (dead["state"], dead["why"]) == ("dead", "claude ended with status -9")


async def test_people_see_the_state_as_metadata_and_as_away(ircd, agent, eventually):
    caps = "draft/metadata-3 batch"
    async with connected(ircd.port, "spark-ori", "#general", caps=caps) as ori:
        ori.send("METADATA * SUB culture.state")
        assert "spark-claude culture.state" in await ori.until(":idle 20")

        agent.daemon.operations.pause("for the night")
        assert "spark-claude culture.state" in await ori.until(":paused 20")
        ori.send("PRIVMSG spark-claude :are you there?")
        assert (await ori.until(" 301 ")).endswith("spark-claude :paused: for the night")

        agent.daemon.operations.resume()
        assert "spark-claude culture.state" in await ori.until(":working 20")
        await agent.runner.ends_turn()
        assert "spark-claude culture.state" in await ori.until(":idle 20")
        ori.send("PRIVMSG spark-claude :thanks", "PING x")
        await ori.until("PONG")
        assert sum(" 301 " in line for line in ori.seen) == 1


async def test_the_state_is_published_once_per_change_and_again_on_a_new_connection(monkeypatch, eventually):
    class Wire:
        sent: ClassVar[list[str]] = []

        def set_metadata(self, key: str, value: str) -> None:
            self.sent.append(value)

        def set_away(self, why: str) -> None:
            self.sent.append(f"away {why}")

    monkeypatch.setattr("culture.agent.reporting.presence.DELAY_S", 0.0)
    presence, paused = Presence(Wire()), Situation(AgentState.PAUSED, 0.0, "for the night")
    for _ in range(3):
        presence.changed(paused)
    await eventually(lambda: len(Wire.sent) == 2, 20)
    presence.changed(paused._replace(why="for the week"))
    await eventually(lambda: len(Wire.sent) == 3, 20)
    presence.connected()
    presence.changed(paused)
    await eventually(lambda: len(Wire.sent) == 5, 20)

    state = "paused 1970-01-01T00:00:00.000Z"
    night = "away paused: for the night"
    assert Wire.sent == [state, night, "away paused: for the week", state, night]


def test_a_situation_is_json():
    told = json.loads(json.dumps(Situation(AgentState.HUNG, None, "silent").as_json()))

    assert told == {"state": "hung", "since": None, "why": "silent"}
