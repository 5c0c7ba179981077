"""An agent on a real server keeps its budget: no turn begins without money, and everything is counted."""

import asyncio

from support.irc import Plain

from culture.agent.contract import Result, Usage, UsageReport
from culture.config.agent.webhooks import WebhooksConfig
from culture.store.ledger.records import Hold, Spender, Use, micro_usd

DAY_S = 86400.0
CLAUDE = Spender("spark-claude", "spark", "claude")


async def test_a_turn_reserves_and_settles(make_agent, make_costs, ledger, ori: Plain, eventually):
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(lambda: agent.prompts)
        [running] = agent.daemon.operations.status_screen()["budgets"]
        await agent.runner.ends_turn()
        screen = agent.daemon.operations.status_screen()

    assert (running["held_usd"], running["spent_usd"], running["limit_usd"]) == (1, 0, 5)
    assert screen["today"]["cost_usd"] == 0.01
    assert screen["today"]["input_tokens"] == 90
    [row] = ledger.report("task")
    assert (row.name, row.cost, row.held) == ("@spark-claude hello", 10_000, 0)


async def test_a_budget_of_zero_means_no_model_call(make_agent, make_costs, ori: Plain, eventually):
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=0))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG #general :@spark-claude two")
        told = await ori.until("waiting for budget")
        await eventually(lambda: agent.states() == ["queued", "queued"])

        assert "NOTICE #general :spark-ori: waiting for budget: 0.00 of 0.00 USD of spark-claude" in told
        assert agent.daemon.operations.status().startswith("held back: waiting for budget")
        assert agent.prompts == []


async def test_a_spent_budget_wakes_by_itself_the_next_day(
    make_agent, make_costs, ledger, clock, ori: Plain, eventually
):
    ledger.book(Hold("spark-claude/past", "turn", CLAUDE, "p", 0), Use(cost=micro_usd(4.5)))
    channel = WebhooksConfig(irc_channel="#general")
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5), webhooks=channel)
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        alert = await ori.until("[BUDGET]")
        assert "spark-claude waits for budget: 4.50 of 5.00 USD of spark-claude are spent today" in alert
        assert agent.prompts == []

        clock.ahead_s = DAY_S
        await eventually(lambda: agent.prompts, 30)


async def test_people_are_told_when_most_is_spent(make_agent, make_costs, ledger, ori: Plain, eventually):
    ledger.book(Hold("spark-claude/past", "turn", CLAUDE, "p", 0), Use(cost=micro_usd(3.995)))
    channel = WebhooksConfig(irc_channel="#general")
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5), webhooks=channel)
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts)
        await agent.runner.ends_turn()

        alert = await ori.until("[BUDGET]")
        assert alert.endswith("[BUDGET] spark-claude has spent 4.00 of 5.00 USD of spark-claude today")


async def test_a_raise_lets_waiting_turns_begin(make_agent, make_costs, ledger, ori: Plain, eventually):
    ledger.book(Hold("spark-claude/past", "turn", CLAUDE, "p", 0), Use(cost=micro_usd(5)))
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        await ori.until("waiting for budget")

        agent.daemon.costs.raise_budget("agent", "spark-claude", by="spark-ori")

        await eventually(lambda: agent.prompts)
        [budget] = agent.daemon.operations.status_screen()["budgets"]
        assert budget["limit_usd"] == 10


async def test_a_spent_budget_becomes_a_question_that_a_person_answers(
    make_agent, make_costs, ledger, ori: Plain, eventually
):
    ledger.book(Hold("spark-claude/past", "turn", CLAUDE, "p", 0), Use(cost=micro_usd(5)))
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        asked = await ori.until("raise by 5 USD?")
        [question] = (await agent.daemon.handle({"type": "questions", "by": "person"}))["questions"]
        answer = {"type": "answer", "question": question["id"], "text": "yes", "who": "ori", "by": "person"}
        await agent.daemon.handle(answer)

        await eventually(lambda: agent.prompts)
        assert '"5.00 of 5.00 USD of spark-claude are spent today: raise by 5 USD?"' in asked
        assert agent.daemon.operations.status_screen()["budgets"][0]["limit_usd"] == 10


async def test_two_agents_share_the_budget_of_their_host(make_agent, make_costs, ori: Plain, eventually):
    budgets = {"host_usd_per_day": 1.5, "turn_usd": 1}
    claude = make_agent("spark-claude", costs=make_costs("spark-claude", **budgets))
    second = make_agent("spark-second", costs=make_costs("spark-second", **budgets))
    async with claude.running(), second.running():
        await eventually(lambda: claude.is_present() and second.is_present())
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: claude.prompts)
        ori.send("PRIVMSG #general :@spark-second two")
        told = await ori.until("waiting for budget")
        assert "all agents of spark" in told
        assert "1.00 USD are reserved by running turns" in told
        assert second.prompts == []

        # It waits no longer than the turn of the other takes.
        await claude.runner.ends_turn()
        await eventually(lambda: second.prompts, 30)


async def test_a_turn_that_passes_the_rest_of_the_budget_is_interrupted(
    make_agent, make_costs, ledger, ori: Plain, eventually
):
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=2))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(lambda: agent.prompts)
        # One more step like this goes beyond the reservation of 1 USD, and the budget covers more.
        await agent.runner.on_message(UsageReport(Usage(700, 0, 30), 0.6))
        [budget] = agent.daemon.operations.status_screen()["budgets"]
        assert (budget["held_usd"], agent.runner.interrupts) == (2, 0)

        await agent.runner.on_message(UsageReport(Usage(1700, 0, 60), 1.5))

        told = await ori.until("the budget is spent")
        await eventually(lambda: agent.states() == ["expired"])
        assert agent.runner.interrupts == 1
        assert "failed: the budget is spent: 0.00 of 2.00 USD of spark-claude" in told


async def test_a_turn_within_its_reservation_goes_on(make_agent, make_costs, ori: Plain, eventually):
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=1))
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(lambda: agent.prompts)
        for cost in (0.1, 0.3, 0.5, 0.7):
            await agent.runner.on_message(UsageReport(Usage(700, 0, 30), cost))
        await agent.runner.ends_turn()
        await eventually(lambda: agent.states() == ["silent"])
        assert agent.runner.interrupts == 0


async def test_a_backend_that_reached_its_own_limit_is_started_with_a_new_one(
    make_agent, make_costs, ori: Plain, eventually
):
    agent = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with agent.running():
        await eventually(agent.is_present)
        assert agent.daemon.costs.rest_usd() == 5
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(lambda: agent.prompts)

        agent.runner.owed = 0
        await agent.runner.on_message(Result("over its limit", cost_usd=2.0, is_over_budget=True))

        await eventually(lambda: len(agent.runners) == 2 and len(agent.prompts) == 2, 30)
        assert agent.prompts[1].startswith("[IRC again]")
        assert agent.daemon.costs.rest_usd() == 2


async def test_a_turn_that_dies_with_its_process_counts_as_its_reservation(
    make_agent, make_costs, ledger, ori: Plain, eventually, caplog
):
    first = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(lambda: first.prompts)
        await first.runner.on_message(UsageReport(Usage(700, 0, 30), 0.4))
        first.kill()
        await asyncio.gather(first._task, return_exceptions=True)

    second = make_agent("spark-claude", costs=make_costs(agent_usd_per_day=5))
    async with second.running():
        await eventually(lambda: second.prompts, 30)
        today = second.daemon.operations.status_screen()["today"]

    assert (today["cost_usd"], today["input_tokens"]) == (1, 700)
    assert "the cost of 1 model session is not known" in caplog.text


async def test_totals_from_before_the_ledger_are_moved_to_it(make_agent, make_costs, ledger, eventually):
    agent = make_agent("spark-claude", costs=make_costs())
    with agent.file.at_once():
        agent.file._connection.execute("INSERT INTO spent VALUES ('2026-01-01', 2, 100, 80, 10, 0.5)")
    async with agent.running():
        await eventually(agent.is_present)
        total = agent.daemon.operations.status_screen()["total"]

    assert total == {
        "turns": 2, "input_tokens": 100, "cached_tokens": 80, "output_tokens": 10, "cost_usd": 0.5
    }  # fmt: skip
    assert [row.name for row in ledger.report("day")] == ["2026-01-01"]


async def test_a_turn_that_nobody_asked_for_is_booked(agent, eventually):
    await agent.runner.ends_turn(asked=False)

    assert agent.daemon.operations.status_screen()["today"]["cost_usd"] == 0.01
