"""Twenty agents that nobody watches for a weekend: nothing loops, nothing overspends, and nothing is lost."""

from pathlib import Path

import pytest
from support.weekend.weekend import idle_model_calls, play_weekend

# A weekend takes two seconds of a core, and much longer on a busy machine.
pytestmark = pytest.mark.timeout(300)
KEPT = sorted(int(path.stem) for path in (Path(__file__).parent / "seeds").glob("*.txt"))


@pytest.mark.parametrize("seed", range(2))
def test_a_weekend_without_anybody_keeps_every_promise(seed: int):
    outcome = play_weekend(seed)

    assert not outcome.failures
    assert outcome.turns > 0


@pytest.mark.parametrize("seed", KEPT)
def test_a_weekend_that_went_wrong_once_keeps_every_promise(seed: int):
    assert not play_weekend(seed).failures


def test_twenty_supervised_agents_call_no_model_in_an_idle_hour():
    assert idle_model_calls() == 0
