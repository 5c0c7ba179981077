"""What a backend reports about tokens, its context and quotas."""

import pytest
from support.watched import OK, ends

from culture.agent.contract import RateLimit, Result, UsageReport

pytestmark = pytest.mark.timeout(120)


@pytest.mark.needs("usage")
async def test_usage_is_that_of_the_turn_alone(agent, model, eventually):
    model.play(OK)
    for _ in range(3):
        await agent.runner.send_prompt("hello")

    used = [result.usage for result in await ends(agent, eventually, 3)]

    assert all(each.input_tokens > 100 and each.output_tokens > 0 for each in used)
    # A sum of all turns would be twice and three times the first.
    assert used[2].input_tokens < 1.5 * used[0].input_tokens


@pytest.mark.needs("report")
async def test_usage_is_reported_before_the_turn_ends(agent, model, eventually):
    model.play("""
rules:
  - {after_tool: any, answer: [{text: done}], usage: {input_tokens: 2000, output_tokens: 30}}
  - {answer: [{run: [echo, hi]}], usage: {input_tokens: 1000, cached_tokens: 100, output_tokens: 20}}
""")
    for _ in range(2):
        await agent.runner.send_prompt("go")
    [first, second] = await ends(agent, eventually, 2)

    for result in (first, second):
        assert (result.usage.input_tokens, result.usage.cached_tokens) == (3000, 100)
        assert result.usage.output_tokens == 50
    # The report of the second turn begins again.
    after = agent.messages[agent.messages.index(first) :]
    reports = [message for message in after if isinstance(message, UsageReport)]
    assert reports
    assert all(0 < report.usage.input_tokens <= 3000 for report in reports)
    assert not isinstance(agent.messages[-1], UsageReport)


@pytest.mark.needs("context")
async def test_it_is_told_how_full_the_context_is(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await agent.runner.send_prompt("much " * 20_000)

    before, after = (result.context for result in await ends(agent, eventually, 2))

    assert 0 < before < after < 1


@pytest.mark.needs("status")
async def test_an_exhausted_quota_is_reported_before_the_turn_fails(agent, model, eventually):
    model.play("rules: [{answer: [{error: {status: 429}}], headers: {retry-after: '0'}}]")
    await agent.runner.send_prompt("hello")
    await ends(agent, eventually)

    *_, limit, result = [each for each in agent.messages if isinstance(each, (RateLimit, Result))]
    assert limit.is_exhausted
    assert result.status == 429
