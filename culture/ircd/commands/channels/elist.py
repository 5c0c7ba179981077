"""Filter conditions of LIST (ISUPPORT ELIST)."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from culture.ircd.model.channel import Channel
from culture.protocol.masks import matcher

# By creation time, mask, mask that must not match, topic time and user count.
ELIST: Final = "CMNTU"

_COMPARISON = re.compile(r"([CTct]?)([<>])([0-9]+)")

Condition = Callable[[Channel], bool]


def narrows_down(word: str) -> bool:
    """Return whether a word is a comparison or `!mask`, not a channel name or mask."""
    return word.startswith("!") or _COMPARISON.fullmatch(word) is not None


def read_conditions(words: Iterable[str], now: float) -> Condition:
    """Return the test for a list: any of the names or masks, and all of the comparisons and `!mask`s."""
    names: list[Callable[[str], bool]] = []
    conditions: list[Condition] = []
    for word in filter(None, words):
        comparison = _COMPARISON.fullmatch(word)
        if comparison:
            what, sign, number = comparison.groups()
            conditions.append(_compare(what.upper(), sign, int(number), now))
        elif word.startswith("!"):
            conditions.append(_differs(word[1:]))
        else:
            names.append(matcher(word))

    def is_wanted(channel: Channel) -> bool:
        is_named = not names or any(is_match(channel.name) for is_match in names)
        return is_named and all(condition(channel) for condition in conditions)

    return is_wanted


def _differs(mask: str) -> Condition:
    is_match = matcher(mask)
    return lambda channel: not is_match(channel.name)


def _compare(what: str, sign: str, limit: int, now: float) -> Condition:
    """Compare users (`<5`), minutes since creation (`C<5`) or minutes since the topic was set (`T<5`)."""

    def measure(channel: Channel) -> float | None:
        match what:
            case "C":
                return (now - channel.created_at) / 60
            case "T":
                return (now - channel.topic.set_at) / 60 if channel.topic else None
            case _:
                return len(channel.members)

    def holds(channel: Channel) -> bool:
        measured = measure(channel)
        if measured is None:
            return False
        return measured < limit if sign == "<" else measured > limit

    return holds
