"""What a host holds of an origin: per scope, up to which number it has everything that it may have.

A scope is all that crosses links, or some channels: what came by a way that is limited to those. Numbers have
gaps (what is local, direct, or was never to be kept), so that a number says nothing alone: what counts is
that a feed brings everything of its scope in order.
"""

from collections.abc import Mapping
from typing import Final

from culture.federation.numbers import generation_of, newest, raise_levels
from culture.federation.ports import Levels
from culture.names import SIGNS, Folded, fold
from culture.protocol.happening import Happening

Scope = frozenset[Folded] | None
"""Some channels, folded; None: everything that is not local."""

_ALL: Final = "*"

BEYOND: Final = frozenset({"MEMBERS", "RENAME"})
"""What is about more than one channel, so that it is known only where all is known."""


def format_scope(scope: Scope) -> str:
    return _ALL if scope is None else ",".join(sorted(scope))


def parse_scope(text: str) -> Scope:
    return None if text == _ALL else frozenset(fold(channel) for channel in text.split(",") if channel)


def narrower(one: Scope, other: Scope) -> Scope:
    """What is within both."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def place_of(happening: Happening) -> Folded | None:
    """The channel that it was in, if it was in one alone."""
    name = happening.target.lstrip(SIGNS)
    return fold(name) if name.startswith("#") else None


def within(happening: Happening, scope: Scope) -> Happening | None:
    """What of an event may be known where only this scope is."""
    if scope is None:
        return happening
    if (place := place_of(happening)) is not None:
        return happening if place in scope and happening.command not in BEYOND else None
    channels = tuple(each for each in happening.channels if fold(each[0]) in scope)
    if not channels:
        return None
    return _in_channels(happening, channels)


def _in_channels(happening: Happening, channels: tuple[tuple[str, bool], ...]) -> Happening:
    return happening if len(channels) == len(happening.channels) else happening._replace(channels=channels)


class Holding:
    def __init__(self, scopes: Mapping[str, Levels] | None = None) -> None:
        """By `*` and by folded channels."""
        self._levels = {scope: dict(levels) for scope, levels in (scopes or {}).items()}
        self._all = self._levels.setdefault(_ALL, {})

    def level(self, scope: Scope) -> dict[int, int]:
        """Of each generation, up to where everything of a scope is here."""
        if scope is None:
            return dict(self._all)
        several = [self._of(channel) for channel in scope]
        generations = set(self._all).union(*several)
        return {each: min(levels.get(each, 0) for levels in several) for each in generations} if scope else {}

    def _of(self, channel: Folded) -> dict[int, int]:
        levels = dict(self._all)
        raise_levels(levels, self._levels.get(channel, {}))
        return levels

    def further(self) -> dict[Folded, dict[int, int]]:
        """The channels of which more is here than of everything."""
        return {
            Folded(channel): levels
            for channel, levels in self._levels.items()
            if channel != _ALL
            and any(self._all.get(generation, -1) < number for generation, number in levels.items())
        }

    @property
    def newest(self) -> int:
        """The last number that is here of anything."""
        return max(map(newest, self._levels.values()))

    def generations(self) -> set[int]:
        return set().union(*self._levels.values())

    def raise_to(self, scope: Scope, levels: Levels) -> None:
        """Everything of the scope up to these numbers is here."""
        for name in (_ALL,) if scope is None else scope:
            raise_levels(self._levels.setdefault(name, {}), levels)

    def took(self, number: int, scope: Scope) -> None:
        """The next event of a feed is here."""
        if scope is not None:
            self.raise_to(scope, {generation_of(number): number})
        elif self._all.get(generation := generation_of(number), -1) < number:
            self._all[generation] = number

    def lacking(self, happening: Happening) -> Happening | None:
        """What of an event is not here yet: what happened in several channels may be known from some."""
        generation, number = generation_of(happening.seq), happening.seq
        if number <= self._all.get(generation, -1):
            return None
        if len(self._levels) == 1:
            return happening
        if happening.command in BEYOND:
            return happening
        if (place := place_of(happening)) is not None:
            return None if self._has(generation, number, place) else happening
        channels = tuple(c for c in happening.channels if not self._has(generation, number, fold(c[0])))
        if happening.channels and not channels:
            return None
        return _in_channels(happening, channels)

    def _has(self, generation: int, number: int, channel: Folded) -> bool:
        return number <= self._levels.get(channel, {}).get(generation, -1)

    def scopes(self) -> dict[str, dict[int, int]]:
        return {scope: dict(levels) for scope, levels in self._levels.items() if levels}

    def copy(self) -> "Holding":
        return Holding(self._levels)
