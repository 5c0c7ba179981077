"""What Claude Code reports about tokens, cost and quotas, with the real program."""

import os
import signal
import time

import pytest
from support.backends import ROWS
from support.watched import Watched, ends, program_of

from culture.agent.contract import RateLimit, ToolResult, Usage, UsageReport

pytestmark = pytest.mark.timeout(120)

# Each call uses the same, so that sums can be told from single calls.
CALL = "usage: {input_tokens: 1000, cached_tokens: 400, output_tokens: 100}"
COUNTED = f"rules: [{{answer: [{{text: ok}}], {CALL}}}]"
TWO_TOOLS = f"""
rules:
  - {{after_tool: any, after_command: second, answer: [{{text: done}}], {CALL}}}
  - {{after_tool: any, answer: [{{run: [echo, second]}}], {CALL}}}
  - {{answer: [{{run: [echo, first]}}], {CALL}}}
"""


@pytest.fixture
def row():
    return ROWS["claude"]


async def test_the_usage_of_a_turn_is_reported_while_it_runs(agent, model, eventually):
    model.play(TWO_TOOLS)
    for _ in range(2):
        await agent.runner.send_prompt("go")

    [first, second] = await ends(agent, eventually, 2)

    assert first.usage == second.usage == Usage(3000, 1200, 300)
    assert first.cost_usd == pytest.approx(second.cost_usd)
    whole = agent.messages.index(first)
    for messages in (agent.messages[:whole], agent.messages[whole:]):
        [result] = [each for each in messages if isinstance(each, ToolResult)][:1]
        reports = [each for each in messages[messages.index(result) :] if isinstance(each, UsageReport)]
        assert reports
        # The last call may have ended before its report was asked for.
        assert all(report.usage.input_tokens in (1000, 2000, 3000) for report in reports)
        assert all(0 < report.cost_usd <= first.cost_usd * 1.001 for report in reports)


async def test_clearing_begins_the_count_anew(agent, model, eventually):
    model.play(COUNTED)
    await agent.runner.send_prompt("hello")
    await agent.runner.clear()
    await agent.runner.send_prompt("hello")

    [first, second] = await ends(agent, eventually, 2)

    assert first.usage == second.usage == Usage(1000, 400, 100)
    assert second.cost_usd == pytest.approx(first.cost_usd)


async def test_what_compacting_costs_is_counted_with_the_next_turn(agent, model, eventually):
    model.play(COUNTED)
    await agent.runner.send_prompt("hello")
    await agent.runner.compact()
    await agent.runner.send_prompt("hello")

    [first, second] = await ends(agent, eventually, 2)

    calls = len(model.server.asked)
    assert calls > 2
    assert first.usage.output_tokens == 100
    assert second.usage.output_tokens == 100 * (calls - 1)
    assert second.cost_usd == pytest.approx((calls - 1) * first.cost_usd)


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_the_first_turn_after_a_restart_costs_what_it_costs(start, model, mark, eventually, how):
    model.play(COUNTED)
    first = await start("hello")
    [spent] = await ends(first, eventually)
    session = first.runner.session_id
    if how == "killed":
        os.kill(program_of(mark), signal.SIGKILL)
        await eventually(lambda: first.exits)
    else:
        await first.runner.stop()

    second = await start("hello", resume=session)

    [result] = await ends(second, eventually)
    assert spent.cost_usd > 0
    assert result.cost_usd == pytest.approx(spent.cost_usd)
    assert result.usage == spent.usage


async def test_a_session_stops_at_its_own_budget_and_says_so(start, model, home, eventually):
    script = "rules: [{after_tool: any, answer: [{text: done}]}, {answer: [{run: [touch, spent]}], USAGE}]"
    model.play(script.replace("USAGE", "usage: {input_tokens: 1000000, output_tokens: 1000}"))
    agent = await start("go", max_budget_usd=0.01)

    [result] = await ends(agent, eventually)

    assert (result.failed, result.is_over_budget) == (True, True)
    assert result.error == "the budget of the session is spent"
    assert result.cost_usd > 0.01
    assert result.usage.input_tokens == 1_000_000
    assert not (home / "work" / "spent").exists()


# Effort


async def test_effort_is_for_one_prompt_and_no_longer(agent, model, eventually):
    model.play(COUNTED)
    await agent.runner.send_prompt("one")
    await agent.runner.send_prompt("two", effort="max")
    await agent.runner.send_prompt("three", effort="off")
    await agent.runner.send_prompt("four")
    await ends(agent, eventually, 4)

    efforts = [each.request.body["output_config"]["effort"] for each in model.server.asked]

    # The program has no level below low.
    assert efforts == ["medium", "max", "low", "medium"]


# Quotas: the program reports them only with the login of a plan

# The program ignores windows that end in many years.
RESET_S = int(time.time()) + 3600
HEADERS = f"""
      anthropic-ratelimit-unified-reset: '{RESET_S}'
      anthropic-ratelimit-unified-representative-claim: five_hour
      anthropic-ratelimit-unified-5h-reset: '{RESET_S}'
      anthropic-ratelimit-unified-7d-status: allowed
      anthropic-ratelimit-unified-7d-utilization: '0.3'
      anthropic-ratelimit-unified-7d-reset: '{RESET_S + 86400}'
"""
PLAN = f"""
rules:
  - prompt: ^warn
    headers:{HEADERS}
      anthropic-ratelimit-unified-status: allowed
      anthropic-ratelimit-unified-5h-status: allowed
      anthropic-ratelimit-unified-5h-utilization: '0.9'
    answer: [{{text: ok}}]
  - prompt: ^more
    headers:{HEADERS}
      anthropic-ratelimit-unified-status: rejected
      anthropic-ratelimit-unified-5h-status: rejected
      anthropic-ratelimit-unified-5h-utilization: '1'
    answer: [{{error: {{status: 429}}}}]
  - answer: [{{text: ok}}]
"""


def limits(agent: Watched) -> list[RateLimit]:
    return [message for message in agent.messages if isinstance(message, RateLimit)]


@pytest.fixture
async def with_plan(start, spec) -> Watched:
    login = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "rehearsal"}
    watched: Watched = await start(env={**spec.env, **login})
    return watched


async def test_each_quota_window_of_a_plan_is_reported(with_plan, model, eventually):
    model.play(PLAN)
    await with_plan.runner.send_prompt("warn me")
    await ends(with_plan, eventually)

    assert RateLimit(False, "five_hour", 0.9, RESET_S) in limits(with_plan)
    assert RateLimit(False, "seven_day", 0.3, RESET_S + 86400) in limits(with_plan)


async def test_an_exhausted_plan_is_reported_with_its_reset_before_each_result(with_plan, model, eventually):
    model.play(PLAN)
    exhausted = RateLimit(True, "five_hour", 1, RESET_S)
    for turn in (1, 2):
        await with_plan.runner.send_prompt("more")
        results = await ends(with_plan, eventually, turn)

        assert results[-1].status == 429
        assert limits(with_plan).count(exhausted) == turn
        assert with_plan.messages.index(exhausted) < with_plan.messages.index(results[0])


async def test_with_a_key_an_exhausted_quota_has_no_reset(agent, model, eventually):
    model.play("rules: [{answer: [{error: {status: 429}}], headers: {retry-after: '0'}}]")
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert result.status == 429
    assert limits(agent) == [RateLimit(is_exhausted=True)]
