"""Serve the subscriptions of peers: first the events they lack, then a snapshot, then live events.

A peer catches up scope by scope: first everything, as far as we have everything, then single channels of
which we have more. When it lacks nothing and our own subscription is live, it gets a snapshot, and from then
on every event as it is committed. These steps follow each other in one tick, so that no event is missed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from culture.federation.event_lines import CarriedEvent, encode
from culture.federation.event_proofs import EventProofs
from culture.federation.feeds.log_tail import LogTails
from culture.federation.feeds.subscription import Subscription
from culture.federation.feeds.watermarks import (
    Scope,
    Watermarks,
    format_scope,
    intersect_scopes,
    visible_part,
)
from culture.federation.links.link import Link, Outbox, PendingRead
from culture.federation.numbers import covers, format_levels, generation_of, highest_number, split_levels
from culture.federation.ports import Levels, LocalServer, ReadRequest
from culture.names import Folded
from culture.protocol.event_record import EventRecord
from culture.protocol.line import format_line
from culture.protocol.peers.scopes import BEYOND


@dataclass(slots=True, eq=False)
class OutgoingFeed:
    """The subscription of one peer to one origin."""

    link: Link
    origin: str
    token: str
    # The watermarks that the peer sent, raised by what it was sent since.
    held: Watermarks
    is_answered: bool = False
    # The scope that was announced to the peer by FEED.
    scope: Scope = frozenset()
    # The peer gets every event as it is committed.
    is_live: bool = False
    # The peer was told by DONE that there is no more for now.
    is_at_end: bool = False
    # For past events: only generations before this one are sent, and no snapshot.
    past_before: int | None = None
    # The scope and end of the read that is in progress.
    reading: tuple[Scope, Levels] | None = None


class OutgoingFeeds:
    """The subscriptions of all peers."""

    def __init__(
        self,
        own_name: str,
        host: LocalServer,
        outbox: Outbox,
        tails: LogTails,
        feed_of: Callable[[str], Subscription | None],
        proofs: EventProofs,
        chunk: int,
    ) -> None:
        """`chunk`: how many events are read at a time."""
        self._own_name = own_name
        self._host = host
        self._outbox = outbox
        self._tails = tails
        self._feed_of = feed_of
        self._proofs = proofs
        self._chunk = chunk
        self._feeds: dict[str, dict[Link, OutgoingFeed]] = {}
        # The feeds that may have something to send, in order.
        self._ready: dict[OutgoingFeed, None] = {}

    def subscribe(
        self, link: Link, token: str, origin: str, held: Watermarks, past_before: int | None = None
    ) -> None:
        """Handle WANT or SEEK: begin or replace the feed of an origin to a peer."""
        outgoing = OutgoingFeed(link, origin, token, held, past_before=past_before)
        self._feeds.setdefault(origin, {})[link] = outgoing
        self._ready[outgoing] = None

    def unsubscribe(self, link: Link, origin: str) -> None:
        """Handle UNWANT: end the feed of an origin to a peer."""
        self._feeds.get(origin, {}).pop(link, None)

    def count(self, link: Link) -> int:
        """Return the number of origins that a peer is subscribed to."""
        return sum(1 for peers in self._feeds.values() if link in peers)

    def link_lost(self, link: Link) -> None:
        """End all feeds to a peer whose link is down."""
        for of_origin in self._feeds.values():
            of_origin.pop(link, None)
        self._feeds = {origin: peers for origin, peers in self._feeds.items() if peers}

    def behind(self, link: Link) -> list[str]:
        """Return the origins of which a peer lacks events that we have."""
        outgoing = [peers[link] for peers in self._feeds.values() if link in peers]
        return [each.origin for each in outgoing if not each.is_live and not each.is_at_end]

    def restart(self, origin: str) -> None:
        """Restart the feeds of an origin, because our own subscription to it changed."""
        for outgoing in self._feeds.get(origin, {}).values():
            outgoing.is_at_end = False
            self._fall_behind(outgoing)

    def wake(self, link: Link) -> None:
        """Continue the feeds of a link that has room again."""
        for of_origin in self._feeds.values():
            if link in of_origin and not of_origin[link].is_live:
                self._ready[of_origin[link]] = None

    def relay(self, event: EventRecord, scope: Scope, *, is_replayed: bool) -> None:
        """Send a committed event to the live feeds of its origin. `scope` is that of our subscription."""
        origin = event.origin
        peers = self._feeds.get(origin)
        if not peers:
            return
        feed = self._feed_of(origin)
        line = ""
        for link, outgoing in peers.items():
            if not outgoing.is_live:
                outgoing.is_at_end = False
                self._ready[outgoing] = None
            elif feed is None or scope != feed.scope or link.is_congested:
                # The peer gets the event by catching up, in order and when the link has room.
                self._fall_behind(outgoing)
            elif (passing := visible_part(event, outgoing.scope)) is None:
                if event.command in BEYOND:
                    # The rename moved a channel into or out of the scope, which only a snapshot can show.
                    self._fall_behind(outgoing)
            elif outgoing.held.missing_part(passing) is passing:
                outgoing.held.advance(event.seq, outgoing.scope)
                if passing is event:
                    line = line or encode(CarriedEvent(event, is_replayed))
                    self._outbox.send(link, line)
                else:
                    self._outbox.send(link, encode(CarriedEvent(passing, is_replayed)))
            elif (part := outgoing.held.missing_part(passing)) is not None:
                outgoing.held.advance(event.seq, outgoing.scope)
                self._outbox.send(link, encode(CarriedEvent(part, is_replayed)))

    def _fall_behind(self, outgoing: OutgoingFeed) -> None:
        """Make a feed catch up again, with a new FEED line."""
        outgoing.is_live = outgoing.is_answered = False
        self._ready[outgoing] = None

    def advance(self) -> None:
        """Continue all feeds that are ready. Call it at the end of a tick, after the commit."""
        ready, self._ready = self._ready, {}
        for outgoing in ready:
            self._advance(outgoing)

    def _advance(self, outgoing: OutgoingFeed) -> None:
        if (
            outgoing.is_live
            or outgoing.reading is not None
            or outgoing.link.is_congested
            or self._is_over(outgoing)
        ):
            return
        if self._catch_up(outgoing):
            feed = self._feed_of(outgoing.origin)
            if feed is None or feed.link is outgoing.link or outgoing.past_before is not None:
                self._say_end(outgoing)
            elif feed.is_live:
                self._go_live(outgoing, intersect_scopes(feed.scope, outgoing.link.scope))

    def _is_over(self, outgoing: OutgoingFeed) -> bool:
        return self._feeds.get(outgoing.origin, {}).get(outgoing.link) is not outgoing

    def _catch_up(self, outgoing: OutgoingFeed) -> bool:
        """Send what the peer lacks. Return False if history has to be read first."""
        tail = self._tails.get(outgoing.origin)
        if tail is None:
            return True
        if outgoing.past_before is not None:
            outgoing.held.raise_to(None, _from_generation(outgoing.past_before, tail.committed))
        for scope in _passes(tail.committed, outgoing.link.scope):
            start, end = outgoing.held.level(scope), tail.committed.level(scope)
            if covers(start, end):
                continue
            if not tail.reaches(start, end):
                self._read(outgoing, scope, start, end)
                return False
            self._tell(outgoing, scope, tail.between(start, end))
            outgoing.held.raise_to(scope, end)
        return True

    def _read(self, outgoing: OutgoingFeed, scope: Scope, start: Levels, end: Levels) -> None:
        outgoing.reading = (scope, end)
        origin = "" if outgoing.origin == self._own_name else outgoing.origin
        known = self._tails[outgoing.origin].committed.generations()
        # Skip generations that this pass does not need: they could fill the whole read with other events.
        over = {each: highest_number(each) for each in known if start.get(each, -1) >= end.get(each, -1)}
        request = ReadRequest(origin, {**start, **over}, channels=scope, most=self._chunk)
        self._outbox.reads.append(PendingRead(request, outgoing))

    def found(self, outgoing: OutgoingFeed, request: ReadRequest, events: Sequence[EventRecord]) -> None:
        """Send the events that were read from history."""
        if outgoing.reading is None:
            return
        (scope, end), outgoing.reading = outgoing.reading, None
        if self._is_over(outgoing):
            return
        self._tell(outgoing, scope, [each for each in events if _is_before(each, end)])
        if len(events) < request.most:
            outgoing.held.raise_to(scope, end)
        else:
            # The read is in order, so generations before its last event are complete.
            newest = generation_of(events[-1].seq)
            outgoing.held.raise_to(scope, {each: number for each, number in end.items() if each < newest})
            outgoing.held.advance(min(events[-1].seq, end.get(newest, 0)), scope)
        self._ready[outgoing] = None

    def unread(self, outgoing: OutgoingFeed) -> None:
        """Clear a failed read; it is repeated when the feed is woken."""
        outgoing.reading = None

    def _tell(self, outgoing: OutgoingFeed, scope: Scope, events: Sequence[EventRecord]) -> None:
        """Send the part of events within a scope that the peer lacks."""
        for each in events:
            passing = visible_part(each, scope) if not each.is_between_local_users else None
            part = outgoing.held.missing_part(passing) if passing is not None else None
            if part is not None:
                self._announce(outgoing, scope)
                event_sent = part._replace(origin=outgoing.origin)
                if outgoing.origin == self._own_name:
                    event_sent = self._proofs.prove(event_sent)
                self._outbox.send(outgoing.link, encode(CarriedEvent(event_sent, True)))

    def _announce(self, outgoing: OutgoingFeed, scope: Scope) -> None:
        if outgoing.scope != scope or not outgoing.is_answered:
            outgoing.scope, outgoing.is_answered = scope, True
            line = format_line("FEED", outgoing.token, outgoing.origin, format_scope(scope))
            self._outbox.send(outgoing.link, line)

    def _go_live(self, outgoing: OutgoingFeed, scope: Scope) -> None:
        self._announce(outgoing, scope)
        send, link, origin = self._outbox.send, outgoing.link, outgoing.origin
        levels = self._tails[origin].committed.level(scope) if origin in self._tails else {}
        # The newest levels are enough: the peer learns older ones when it subscribes again.
        newest = split_levels(levels)[-1:]
        send(link, format_line("STATE", origin, format_levels(newest[0] if newest else {})))
        for line in self._host.snapshot(origin, scope):
            send(link, f"HAS {line}")
        send(link, format_line("STATEEND", origin))
        outgoing.held.raise_to(scope, levels)
        outgoing.is_live = True

    def _say_end(self, outgoing: OutgoingFeed) -> None:
        if not outgoing.is_at_end:
            outgoing.is_at_end = True
            self._outbox.send(outgoing.link, format_line("DONE", outgoing.token, outgoing.origin))


def _passes(committed: Watermarks, scope: Scope) -> Iterator[Scope]:
    """Yield the scopes in which a peer catches up: each is complete up to a number of its own."""
    channels_ahead = [
        channel for channel in sorted(committed.channels_ahead()) if scope is None or channel in scope
    ]
    if scope is None or not channels_ahead:
        yield scope
        yield from (frozenset({channel}) for channel in channels_ahead)
    else:
        yield from (frozenset({Folded(channel)}) for channel in sorted(scope))


def _from_generation(first: int, committed: Watermarks) -> Levels:
    """Return levels that cover everything from a generation on."""
    return {each: highest_number(each) for each in committed.generations() if each >= first}


def _is_before(event: EventRecord, end: Levels) -> bool:
    return event.seq <= end.get(generation_of(event.seq), -1)
