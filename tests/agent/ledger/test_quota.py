"""A used-up quota stops all agents with the same login, is said once, and ends by itself."""

import time

from support.irc import Plain

from culture.agent.contract import RateLimit
from culture.config.agent.webhooks import WebhooksConfig

ALERTS = WebhooksConfig(irc_channel="#alerts")


async def test_agents_with_one_login_wait_for_the_reset_and_resume(
    make_agent, make_costs, clock, ori: Plain, eventually
):
    claude = make_agent("spark-claude", costs=make_costs("spark-claude"), webhooks=ALERTS)
    second = make_agent("spark-second", costs=make_costs("spark-second"), webhooks=ALERTS)
    other = make_agent("spark-other", costs=make_costs("spark-other", login="codex:ori"), webhooks=ALERTS)
    async with claude.running(), second.running(), other.running():
        await eventually(lambda: claude.is_present() and second.is_present() and other.is_present())
        ori.send("JOIN #alerts", "PRIVMSG #general :@spark-claude one", "PRIVMSG #general :@spark-second two")
        await eventually(lambda: claude.prompts and second.prompts)
        limit = RateLimit(is_exhausted=True, window="five_hour", resets_at_s=time.time() + 3600)
        await claude.runner.on_message(limit)
        await second.runner.on_message(limit)
        alert = await ori.until("[QUOTA]")
        await claude.runner.ends_turn("usage limit reached", status=429)
        await second.runner.ends_turn()
        ori.send("PRIVMSG #general :@spark-second three", "PRIVMSG #general :@spark-other four")
        await ori.until("spark-ori: waiting for quota: the five_hour quota of the login is used up until")
        await eventually(lambda: other.prompts)

        assert "every agent of this host with this login waits" in alert
        assert second.daemon.operations.status().startswith("held back: waiting for quota")
        assert len(second.prompts) == 1

        clock.ahead_s = 3700
        await eventually(lambda: len(second.prompts) == 2, 30)
        # What the refused turn was to answer is asked again.
        await eventually(lambda: len(claude.prompts) == 2, 30)
        assert "one" in claude.prompts[1]
    assert len([line for line in ori.seen if "[QUOTA]" in line]) == 1
    # The turn that was refused is no error: it is repeated.
    assert [line for line in ori.seen if "[ERROR]" in line] == []


async def test_a_refusal_without_a_reset_stops_nobody_else(make_agent, make_costs, ori: Plain, eventually):
    agent = make_agent("spark-claude", costs=make_costs())
    async with agent.running():
        await eventually(agent.is_present)
        await agent.runner.on_message(RateLimit(is_exhausted=True))
        await agent.runner.on_message(
            RateLimit(is_exhausted=False, utilization=0.9, resets_at_s=time.time() + 60)
        )
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts)
