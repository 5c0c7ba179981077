"""The conditions by which LIST is narrowed down (ISUPPORT ELIST)."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from culture.ircd.channel import Channel
from culture.protocol.masks import matcher

ELIST: Final = "CMNTU"
"""By creation time, mask, mask that must not match, topic time and user count."""

_COMPARISON = re.compile(r"([CTct]?)([<>])([0-9]+)")

Condition = Callable[[Channel], bool]


def narrows_down(word: str) -> bool:
    """Whether this is a condition, and not a name or a mask of names."""
    return word.startswith("!") or _COMPARISON.fullmatch(word) is not None


def read_conditions(words: Iterable[str], now: float) -> Condition:
    """`#a` and `*b*` mean either; every comparison and every `!mask` narrows that down."""
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
    """`<5` has fewer than five users; `C<5` is younger than five minutes, `T<5` has such a topic."""

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
