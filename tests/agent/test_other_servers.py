"""An agent on IRC servers that know nothing of this project: without message ids, echoes or history."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.irc import connected
from support.servers import Server, serve

from culture.agent.tools.model_tools import make_tools


@pytest.fixture(params=["ngircd", "inspircd"])
def server(request) -> Iterator[Server]:
    # Not below pytest's own directory, which is for its user alone: ngircd gives up root by itself.
    home = Path(tempfile.mkdtemp(prefix="culture-"))
    home.chmod(0o755)
    yield from serve(request.param, home)
    shutil.rmtree(home)


@pytest.fixture
async def agent(server, make_agent, eventually):
    agent = make_agent("spark-claude", server.address)
    async with agent.running():
        await eventually(lambda: agent.is_ready and agent.channels)
        yield agent


@pytest.fixture
def tools(agent) -> dict:
    made = make_tools(agent.daemon.handle, agent.daemon.whispers)
    return {tool.name: tool.run for tool in made}


async def test_it_is_called_asks_and_is_answered(server, agent, tools, eventually):
    async with connected(server.address.port, "ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude look at the disk")
        await eventually(lambda: agent.prompts)
        assert agent.prompts == ["[IRC @mention in #general] <ori> @spark-claude look at the disk"]

        asking = asyncio.create_task(tools["irc_ask"]({"channel": "#general", "question": "which one?"}))
        await ori.until(':"which one?"')
        ori.send("PRIVMSG #general :@spark-claude the second one")
        assert await asking == "<ori> @spark-claude the second one"
        # A question is no answer.
        assert agent.states() == ["injected"]


@pytest.mark.slow
async def test_a_text_of_many_lines_arrives_whole_and_slowly_enough(server, tools):
    """InspIRCd, as it is set up here, throws off who sends more than ten lines at once."""
    text = "\n".join(f"line {number}" for number in range(16))
    async with connected(server.address.port, "ori", "#general") as ori:
        assert await tools["irc_send"]({"channel": "#general", "message": text}) == "sent as 16 lines"

        await ori.until(":line 15")
        said = [line.partition(" PRIVMSG #general :")[2] for line in ori.seen if " PRIVMSG " in line]
    assert "\n".join(said) == text


async def test_it_looks_around_and_is_told_what_there_is_not(server, tools):
    async with connected(server.address.port, "ori", "#ops"):
        assert await tools["irc_join"]({"channel": "#ops"}) == "in #ops, with 1 other"
        listed = await tools["irc_who"]({"channel": "#ops"})
        assert sorted(line.split()[0] for line in listed.splitlines()) == ["@ori", "spark-claude"]
        with pytest.raises(Exception, match="no history"):
            await tools["irc_history"]({"channel": "#ops"})
