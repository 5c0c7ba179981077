"""Every call of a judge is in the ledger, and a spent budget prevents the call."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from support.judge import ScriptedJudge

from culture.agent.ledger.account import SideSession
from culture.agent.supervision.booked_model import BookedModel
from culture.errors import TemporaryError


async def test_a_call_is_booked_with_its_tokens(agent: Any):
    judge = ScriptedJudge()
    booked = BookedModel(lambda: judge, lambda: agent.daemon.costs.account.side_session("supervisor"))
    before, _ = agent.daemon.costs.account.spent()

    answer = await booked.complete("system", "prompt")

    today, _ = agent.daemon.costs.account.spent()
    assert today.input_tokens - before.input_tokens == answer.usage.input_tokens
    assert today.output_tokens - before.output_tokens == answer.usage.output_tokens


async def test_a_judge_is_not_asked_when_the_budget_is_spent():
    judge = ScriptedJudge()

    @contextlib.contextmanager
    def refuse() -> Iterator[SideSession]:
        raise TemporaryError("the budget is spent")
        yield SideSession()

    with pytest.raises(TemporaryError, match="the budget is spent"):
        await BookedModel(lambda: judge, refuse).complete("system", "prompt")

    assert judge.prompts == []
