"""A halt interrupts an agent and keeps it from working, also over restarts, until somebody ends it."""

import getpass

import pytest
from agent.conftest import Agent
from support.irc import all_are_in, connected
from support.linked import QUICK, meshed

from culture.config.address import TcpAddress

PEOPLE = {"people": f"['unix:{getpass.getuser()}']"}
# The server knows the user of each connection then, and its own user may halt.
among_people = pytest.mark.parametrize("ircd", [PEOPLE], indirect=True, ids=["people"])
HALTED = "All agents of spark are halted, by spark-ori: tea"


async def asked(agent, ori, eventually, text: str) -> None:
    """The question is with the backend."""
    so_far = len(agent.prompts)
    ori.send(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: len(agent.prompts) > so_far, 20)


@among_people
async def test_a_halt_interrupts_the_turn_and_its_message_is_answered_afterwards(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")

    ori.send("HALT host :tea")

    await ori.until(HALTED)
    await eventually(lambda: agent.runner.interrupts == 1, 20)
    await eventually(lambda: agent.states() == ["queued"], 20)
    ori.send("PRIVMSG spark-claude :two", "PRIVMSG #general :@spark-claude status")
    await eventually(lambda: agent.states() == ["queued", "queued"], 20)
    assert "halted by spark-ori: tea" in await ori.until("NOTICE #general")
    assert len(agent.prompts) == 1
    ori.send("UNHALT host")
    await eventually(lambda: len(agent.prompts) == 2, 20)
    assert "@spark-claude one" in agent.prompts[1]


@among_people
async def test_a_halt_survives_a_restart_of_the_agent(ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present, 20)
        ori.send("HALT host :tea")
        await eventually(lambda: "halted" in first.daemon.operations.status(), 20)
    second = make_agent("spark-claude")
    assert "halted by spark-ori: tea" in second.file.kept("halted")
    async with second.running():
        await eventually(second.is_present, 20)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: second.states() == ["queued"], 20)
        assert second.prompts == []
    ori.send("UNHALT host")
    await ori.until("may work again")
    # It was not there when the halt ended, and learns it from the server.
    third = make_agent("spark-claude")
    async with third.running():
        await eventually(lambda: len(third.prompts) == 1, 20)


@among_people
async def test_an_agent_that_joins_halted_agents_is_halted_too(ori, make_agent, eventually):
    ori.send("HALT mesh :tea")
    await ori.until(HALTED)
    agent = make_agent("spark-claude")
    async with agent.running():
        await eventually(agent.is_present, 20)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.states() == ["queued"], 20)
        assert "halted by spark-ori" in agent.daemon.operations.status()
        assert agent.prompts == []


@pytest.mark.timeout(240)
async def test_a_halt_of_the_mesh_stops_agents_of_both_hosts_and_survives_restarts(home, eventually):
    config = f"{QUICK}people: {PEOPLE['people']}\n"
    async with meshed(home, "spark-thor", config=config) as mesh:
        ann = Agent(TcpAddress("127.0.0.1", mesh.port("spark")), home, "spark-ann")
        bob = Agent(TcpAddress("127.0.0.1", mesh.port("thor")), home, "thor-bob")
        async with (
            ann.running(),
            bob.running(),
            connected(mesh.port("spark"), "spark-ori", "#general") as ori,
        ):
            await eventually(lambda: ann.is_present() and bob.is_present(), 30)
            await all_are_in(ori, "spark-ann", "thor-bob")
            ori.send("PRIVMSG spark-ann :work", "PRIVMSG thor-bob :work")
            await eventually(lambda: ann.prompts and bob.prompts, 30)

            ori.send("HALT mesh :tea")

            await eventually(lambda: ann.runner.interrupts + bob.runner.interrupts == 2, 30)
            for agent in (ann, bob):
                assert "halted by spark-ori: tea" in agent.daemon.operations.status()
            so_far = len(bob.prompts)
            await mesh["thor"].crash()
            async with connected(mesh.port("thor"), "thor-lea", caps="agentirc.dev/halt") as lea:
                await lea.until(":thor HALT mesh spark-ori ")
                lea.send("PRIVMSG thor-bob :work")
                await eventually(lambda: bob.states()[-1] == "queued", 30)
                assert len(bob.prompts) == so_far
                ori.send("UNHALT mesh")
                await eventually(lambda: len(bob.prompts) > so_far, 30)
