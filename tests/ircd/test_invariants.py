"""Whatever clients type, in whatever order: nothing escapes, nobody is told what is not so, nothing is left.

A bounded share of what `scripts/fuzz` plays, the same at every run; games that failed once come first.
"""

from pathlib import Path

import pytest
from support.fuzz.generate import play_random
from support.fuzz.play import replay
from support.fuzz.steps import parse_steps

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.txt"))
GAMES = 8


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)
def test_what_failed_once_holds(seed: Path):
    if (failure := replay(parse_steps(seed.read_text()))) is not None:
        raise failure


@pytest.mark.parametrize("seed", range(GAMES))
def test_a_random_game_holds(seed: int):
    _, failure = play_random(seed)
    if failure is not None:
        raise failure
