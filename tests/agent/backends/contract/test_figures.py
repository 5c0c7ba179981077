"""What a backend tells about tokens and its context."""

import pytest
from support.watched import OK, ends

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


@pytest.mark.needs("context")
async def test_it_is_told_how_full_the_context_is(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await agent.runner.send_prompt("much " * 20_000)

    before, after = (result.context for result in await ends(agent, eventually, 2))

    assert 0 < before < after < 1
