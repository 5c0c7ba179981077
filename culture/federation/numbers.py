"""Numbers of events: a generation, which is one run of a server, and a counter within it."""

from collections.abc import Mapping
from typing import Final

from culture.federation.ports import Levels
from culture.protocol.happening import GENERATION_SHIFT, GENERATIONS

AT_A_TIME: Final = 1000
"""How many levels are on one line: one that starts anew every hour needs a second line after six weeks."""


def number(generation: int, counter: int) -> int:
    return generation << GENERATION_SHIFT | counter


def highest_number(generation: int) -> int:
    return number(generation + 1, 0) - 1


def generation_of(number: int) -> int:
    return number >> GENERATION_SHIFT


def format_number(number: int) -> str:
    return f"{number >> GENERATION_SHIFT}.{number & (1 << GENERATION_SHIFT) - 1}"


def parse_number(text: str) -> int:
    """Raises ValueError for what is no number."""
    generation, dot, counter = text.partition(".")
    is_number = dot and generation.isdecimal() and counter.isdecimal()
    if not is_number or int(generation) >= GENERATIONS or int(counter) >= 1 << GENERATION_SHIFT:
        raise ValueError(f"'{text[:32]}' is not a number of an event")
    return number(int(generation), int(counter))


def format_levels(levels: Levels) -> str:
    return ",".join(format_number(levels[generation]) for generation in sorted(levels)) or "-"


def parse_levels(text: str) -> dict[int, int]:
    if text == "-":
        return {}
    numbers = [parse_number(each) for each in text.split(",")]
    return {generation_of(each): each for each in numbers}


def split_levels(levels: Levels) -> list[dict[int, int]]:
    """In parts that fit on a line each, the newest last."""
    generations = sorted(levels)
    return [
        {each: levels[each] for each in generations[first : first + AT_A_TIME]}
        for first in range(0, len(generations), AT_A_TIME)
    ]


def newest(levels: Levels) -> int:
    """The last number of all."""
    return max(levels.values(), default=-1)


def covers(levels: Levels, needed: Levels) -> bool:
    """Whether nothing is lacking up to what is needed."""
    return all(levels.get(generation, -1) >= number for generation, number in needed.items())


def raise_levels(levels: dict[int, int], by: Mapping[int, int]) -> None:
    for generation, number in by.items():
        if levels.get(generation, -1) < number:
            levels[generation] = number
