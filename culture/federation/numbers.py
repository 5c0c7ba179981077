"""Event numbers: a generation, which is one run of a server, and a counter within it."""

from collections.abc import Mapping
from typing import Final

from culture.federation.ports import Levels
from culture.protocol.event_record import GENERATION_SHIFT

# How many levels fit on one line: a server restarted every hour needs a second line after six weeks.
LEVELS_PER_LINE: Final = 1000


def number(generation: int, counter: int) -> int:
    """Return the event number of a counter in a generation."""
    return generation << GENERATION_SHIFT | counter


def highest_number(generation: int) -> int:
    """Return the highest number of a generation."""
    return number(generation + 1, 0) - 1


def generation_of(number: int) -> int:
    """Return the generation of an event number."""
    return number >> GENERATION_SHIFT


def format_number(number: int) -> str:
    """Return a number as `generation.counter`."""
    return f"{number >> GENERATION_SHIFT}.{number & (1 << GENERATION_SHIFT) - 1}"


def format_levels(levels: Levels) -> str:
    """Return levels as a list with commas, or `-` if there are none."""
    return ",".join(format_number(levels[generation]) for generation in sorted(levels)) or "-"


def split_levels(levels: Levels) -> list[dict[int, int]]:
    """Split levels into parts that fit on a line each, the newest last."""
    generations = sorted(levels)
    return [
        {each: levels[each] for each in generations[first : first + LEVELS_PER_LINE]}
        for first in range(0, len(generations), LEVELS_PER_LINE)
    ]


def up_to(generation: int, levels: Levels) -> dict[int, int]:
    """Return the levels without those of later generations."""
    return {each: number for each, number in levels.items() if each <= generation}


def newest(levels: Levels) -> int:
    """Return the highest number of all, or -1."""
    return max(levels.values(), default=-1)


def covers(levels: Levels, needed: Levels) -> bool:
    """Return whether levels include everything up to the needed ones."""
    return all(levels.get(generation, -1) >= number for generation, number in needed.items())


def raise_levels(levels: dict[int, int], by: Mapping[int, int]) -> None:
    """Raise each level to the other one where that is higher."""
    for generation, number in by.items():
        if levels.get(generation, -1) < number:
            levels[generation] = number
