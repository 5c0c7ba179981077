"""The skill as tools in the daemon's own process."""

import pytest
from support.irc import connected

from culture.agent.tools.model_tools import make_tools
from culture.errors import UnavailableError, UsageError


@pytest.fixture
def tools(agent) -> dict:
    return {tool.name: tool for tool in make_tools(agent.daemon.handle, agent.daemon.whispers)}


async def test_a_tool_does_what_the_program_does(ircd, tools):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        assert (
            await tools["irc_send"].run({"channel": "#general", "message": "one\ntwo"}) == "sent as 2 lines"
        )
        await ori.until(":two")

        read = await tools["irc_read"].run({"channel": "#general"})

    assert [line[9:] for line in read.splitlines()] == ["<spark-claude> one", "<spark-claude> two"]


async def test_whispers_come_first(agent, tools):
    agent.daemon.whispers.add("ask for help", "CORRECTION")

    assert await tools["irc_channels"].run({}) == "[SUPERVISOR/CORRECTION] ask for help\n#general  1"


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("irc_send", {"channel": "#general"}, UsageError),
        ("irc_send", {"channel": "#general", "message": "hi", "type": "resume"}, None),
        ("irc_who", {"channel": "spark-nobody"}, UnavailableError),
    ],
)
async def test_what_is_wrong_is_raised_and_a_tool_stays_what_it_is(tools, name, arguments, error):
    if error is None:
        assert await tools[name].run(arguments) == "sent"
        return
    with pytest.raises(error):
        await tools[name].run(arguments)


def test_an_agent_has_no_tool_to_resume_itself(tools):
    assert not {"queue", "pause", "resume"} & tools.keys()
