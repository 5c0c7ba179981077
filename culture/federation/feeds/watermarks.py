"""Watermarks: per scope, the number up to which a host has all events of an origin.

A scope is everything that crosses links, or some channels, if the route is limited to those. Numbers have
gaps (events that are local, direct or never stored), so watermarks rely on feeds that bring all events of
their scope in order.
"""

from collections.abc import Mapping
from typing import Final

from culture.federation.numbers import generation_of, newest, raise_levels, up_to
from culture.federation.ports import Levels
from culture.names import Folded, fold
from culture.protocol.event_record import EventRecord
from culture.protocol.peers import validate
from culture.protocol.peers.scopes import BEYOND, place_of

# A set of channels; None: everything that is not local.
Scope = frozenset[Folded] | None

_ALL: Final = "*"


def format_scope(scope: Scope) -> str:
    """Return a scope as channels with commas, or `*` for everything."""
    return _ALL if scope is None else ",".join(sorted(scope))


def parse_scope(text: str) -> Scope:
    """Parse a scope without checking its channels."""
    return None if text == _ALL else frozenset(fold(channel) for channel in text.split(",") if channel)


def checked_scope(text: str) -> Scope:
    """Parse and check a scope from a peer. Raises MalformedLine."""
    if text != _ALL:
        for channel in filter(None, validate.at_most(text.split(","), validate.CHANNELS, "channels")):
            validate.channel(channel)
    return parse_scope(text)


def intersect_scopes(one: Scope, other: Scope) -> Scope:
    """Return what is within both scopes."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def visible_part(event: EventRecord, scope: Scope) -> EventRecord | None:
    """Return the part of an event that a scope may see, or None."""
    if scope is None:
        return event
    if (place := place_of(event)) is not None:
        return event if place in scope and event.command not in BEYOND else None
    channels = tuple(each for each in event.channels if fold(each[0]) in scope)
    if not channels:
        return None
    return _in_channels(event, channels)


def _in_channels(event: EventRecord, channels: tuple[tuple[str, bool], ...]) -> EventRecord:
    return event if len(channels) == len(event.channels) else event._replace(channels=channels)


class Watermarks:
    """The watermarks of one origin, by scope."""

    def __init__(self, scopes: Mapping[str, Levels] | None = None) -> None:
        """`scopes` has levels by `*` and by folded channel names."""
        self._levels = {scope: dict(levels) for scope, levels in (scopes or {}).items()}
        self._all = self._levels.setdefault(_ALL, {})

    def level(self, scope: Scope) -> dict[int, int]:
        """Return the levels up to which everything of a scope is here."""
        if scope is None:
            return dict(self._all)
        several = [self._of(channel) for channel in scope]
        generations = set(self._all).union(*several)
        return {each: min(levels.get(each, 0) for levels in several) for each in generations} if scope else {}

    def _of(self, channel: Folded) -> dict[int, int]:
        levels = dict(self._all)
        raise_levels(levels, self._levels.get(channel, {}))
        return levels

    def channels_ahead(self) -> dict[Folded, dict[int, int]]:
        """Return the channels whose watermarks are above those of everything."""
        return {
            Folded(channel): levels
            for channel, levels in self._levels.items()
            if channel != _ALL
            and any(self._all.get(generation, -1) < number for generation, number in levels.items())
        }

    def newest_up_to(self, generation: int) -> int:
        """Return the highest number of any scope, without later generations."""
        return max(newest(up_to(generation, levels)) for levels in self._levels.values())

    def lower_to(self, generation: int, number: int) -> None:
        """Lower a generation to a number, or remove it for a negative one."""
        for held in self._levels.values():
            if number < 0:
                held.pop(generation, None)
            elif held.get(generation, -1) > number:
                held[generation] = number

    @property
    def size(self) -> int:
        """Return how many levels there are in all scopes."""
        return sum(map(len, self._levels.values()))

    def generations(self) -> set[int]:
        """Return all generations of which anything is here."""
        return set().union(*self._levels.values())

    def raise_to(self, scope: Scope, levels: Levels) -> None:
        """Record that everything of a scope up to these levels is here."""
        for name in (_ALL,) if scope is None else scope:
            raise_levels(self._levels.setdefault(name, {}), levels)

    def advance(self, number: int, scope: Scope) -> None:
        """Record that the next event of a feed with this scope is here."""
        if scope is not None:
            self.raise_to(scope, {generation_of(number): number})
        elif self._all.get(generation := generation_of(number), -1) < number:
            self._all[generation] = number

    def missing_part(self, event: EventRecord) -> EventRecord | None:
        """Return the part of an event that is not here yet, or None.

        An event of several channels may be here for some of them.
        """
        generation, number = generation_of(event.seq), event.seq
        if number <= self._all.get(generation, -1):
            return None
        if len(self._levels) == 1:
            return event
        if event.command in BEYOND:
            return event
        if (place := place_of(event)) is not None:
            return None if self._has(generation, number, place) else event
        channels = tuple(c for c in event.channels if not self._has(generation, number, fold(c[0])))
        if event.channels and not channels:
            return None
        return _in_channels(event, channels)

    def _has(self, generation: int, number: int, channel: Folded) -> bool:
        return number <= self._levels.get(channel, {}).get(generation, -1)

    def scopes(self) -> dict[str, dict[int, int]]:
        """Return the levels of all scopes that have any."""
        return {scope: dict(levels) for scope, levels in self._levels.items() if levels}

    def copy(self) -> "Watermarks":
        """Return an independent copy."""
        return Watermarks(self._levels)
