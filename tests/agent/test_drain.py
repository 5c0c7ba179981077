"""Before its service is restarted, an agent finishes its turn and begins no other."""

import asyncio

import pytest
from support.irc import connected

from culture.ctl.fleet.drain import drain, let_go_on
from culture.errors import TemporaryError

NICK = "spark-claude"


@pytest.fixture(autouse=True)
def reachable(agent, home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's socket is where culturectl of this home looks for it."""
    (home / "run").mkdir()
    (home / "run" / f"{NICK}.sock").symlink_to(agent.socket)
    monkeypatch.setenv("CULTURE_HOME", str(home))
    monkeypatch.delenv("CULTURE_SOCKET", raising=False)


async def test_a_running_turn_ends_first_and_the_next_waits(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send(f"PRIVMSG #general :@{NICK} one", f"PRIVMSG {NICK} :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])

        draining = asyncio.create_task(asyncio.to_thread(drain, [NICK], within_s=30))
        await ori.until("its configuration changes")
        assert not draining.done()
        await agent.runner.ends_turn()

        async with asyncio.timeout(30):
            assert await draining == [NICK]
        assert agent.states().count("queued") == 1
        await asyncio.to_thread(let_go_on, [NICK])
        await eventually(lambda: agent.states().count("injected") == 1)


async def test_an_agent_that_is_idle_is_not_paused(ircd, agent):
    assert await asyncio.to_thread(drain, [NICK], within_s=30) == []


async def test_a_turn_that_takes_too_long_goes_on_as_if_nothing_had_been_asked(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send(f"PRIVMSG #general :@{NICK} one", f"PRIVMSG {NICK} :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])

        with pytest.raises(TemporaryError, match=f"^{NICK} did not finish within 0 s; nothing was changed$"):
            await asyncio.to_thread(drain, [NICK], within_s=0)

        await agent.runner.ends_turn()
        await eventually(lambda: agent.states().count("injected") == 1)


async def test_an_agent_that_does_not_run_holds_nothing_up(home):
    assert await asyncio.to_thread(drain, ["spark-nobody"], within_s=30) == []
