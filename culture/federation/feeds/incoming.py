"""Subscribe to the log and state of each origin, at the next host on the route to it.

Besides that, each peer is asked once for the past of each origin: of hosts that are out of reach, and of
earlier generations, which a host restored from an older backup may have lost. So every event that some host
still has reaches all hosts.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from culture.federation.event_lines import CarriedEvent
from culture.federation.event_proofs import EventProofs
from culture.federation.feeds.log_tail import LogTails
from culture.federation.feeds.subscription import Subscription
from culture.federation.feeds.watermarks import Scope, Watermarks, format_scope, intersect_scopes
from culture.federation.hosts import Hosts
from culture.federation.links.link import Link, Outbox
from culture.federation.numbers import format_levels, generation_of, newest, split_levels, up_to
from culture.federation.ports import Levels, LocalServer
from culture.protocol.event_record import GENERATIONS, EventRecord, latest_generation
from culture.protocol.line import MalformedLine, format_line
from culture.protocol.peers.scopes import is_all_within

# A peer may lag behind what another one sent of an origin. If it reports the same level for so long, it is
# right, and the events beyond that level were forged.
DISTRUST_S: Final = 60.0


class UncommittedEvent(NamedTuple):
    """An event that the local server applied and that is not committed yet."""

    event: EventRecord
    feed: Subscription
    scope: Scope
    is_replayed: bool


class UncommittedSnapshot(NamedTuple):
    """A snapshot that was applied: the levels are reached once this tick is committed."""

    feed: Subscription
    scope: Scope
    levels: Levels


class IncomingFeeds:
    """The subscriptions of this host, and the events and snapshots that arrive by them."""

    def __init__(
        self,
        host: LocalServer,
        outbox: Outbox,
        hosts: Hosts,
        tails: LogTails,
        is_believed_about: Callable[[Link, str], bool],
        proofs: EventProofs,
        *,
        clock: Callable[[], float],
        timer: Callable[[], float],
    ) -> None:
        """`is_believed_about`: whether a peer is believed about an origin."""
        self._own_name = hosts.own_name
        self._host = host
        self._outbox = outbox
        self._hosts = hosts
        self._tails = tails
        self._clock = clock
        self._timer = timer
        self._may_tell = is_believed_about
        self._proofs = proofs
        self._own = Subscription(self._own_name, None, scope=None, is_live=True)
        self._main: dict[str, Subscription] = {}
        # Subscriptions for past events: one peer at a time for each origin.
        self._past: dict[str, Subscription] = {}
        self._tokens = itertools.count(1)
        self._uncommitted: list[UncommittedEvent | UncommittedSnapshot] = []
        # The peer that reports a lower level of an origin than was received, and since when.
        self._doubted: dict[str, tuple[Link, float]] = {}

    def of(self, origin: str) -> Subscription | None:
        """Return the main subscription to an origin."""
        return self._own if origin == self._own_name else self._main.get(origin)

    def behind(self, link: Link) -> list[str]:
        """Return the origins whose missing events this peer is still sending."""
        feeds = [*self._main.values(), *self._past.values()]
        return [feed.origin for feed in feeds if feed.link is link and not feed.is_live]

    # Subscribing.

    def follow_routes(self, links: Mapping[str, Link]) -> list[str]:
        """Move subscriptions after links or routes changed. Return the origins that moved."""
        changed = []
        for origin in sorted((self._hosts.records.keys() | self._main.keys()) - {self._own_name}):
            route = self._hosts.routes.get(origin)
            link = links.get(route.next_hop) if route is not None else None
            feed = self._main.get(origin)
            if (feed.link if feed is not None else None) is not link:
                changed.append(origin)
                self._leave_past(origin)
                _stop(self._outbox, self._main.pop(origin, None))
                if link is not None:
                    self._main[origin] = self._ask(origin, link, "WANT")
        self._request_past(links.values())
        return changed

    def forget(self, origin: str) -> None:
        """End the subscriptions to a host that no peer reports any more."""
        self._leave_past(origin)
        _stop(self._outbox, self._main.pop(origin, None))

    def want_again(self, origin: str, links: Mapping[str, Link]) -> None:
        """Subscribe to an origin again, because its events could not be committed."""
        if (feed := self._main.get(origin)) is not None and feed.link is not None:
            self._main[origin] = self._ask(origin, feed.link, "WANT")
        # Peers that already sent the past are asked again: they cannot know that it was lost.
        self.request_past_again(origin, links)
        self._request_past(links.values())

    def request_past_again(self, origin: str, links: Mapping[str, Link]) -> None:
        """Mark the past of an origin as not requested, so that every peer is asked again."""
        self._leave_past(origin)
        for link in links.values():
            link.past_requested.discard(origin)

    def on_news(self, link: Link, origin: str, links: Mapping[str, Link]) -> None:
        """Handle NEWS: a peer learned past events of an origin."""
        link.past_requested.discard(origin)
        self._request_past(links.values())

    def _request_past(self, links: Iterable[Link]) -> None:
        # Before both ends claim a link, it is unknown which hosts are behind it and what is their past.
        counting = [link for link in links if self._hosts.link(self._own_name, link.name)[0]]
        ordered = sorted(counting, key=lambda link: link.name)
        for origin in self._hosts.records:
            feed = self._past.get(origin)
            if feed is not None and feed.link in ordered:
                continue
            self._past.pop(origin, None)
            main = self._main.get(origin)
            for link in ordered:
                if origin in link.past_requested or not self._may_tell(link, origin):
                    continue
                if main is None or main.link is not link:
                    link.past_requested.add(origin)
                    self._past[origin] = self._ask_past(origin, link)
                    break

    def _ask_past(self, origin: str, link: Link) -> Subscription:
        """Request generations before the current one, which comes from a reachable host itself."""
        if origin != self._own_name and origin not in self._hosts.routes:
            bound, before = "*", GENERATIONS
        else:
            before = self._hosts.records[origin].generation
            bound = str(before)
        feed = self._ask(origin, link, "SEEK", bound)
        feed.past_before = before
        return feed

    def _leave_past(self, origin: str) -> None:
        """End the request for the past of an origin, and mark it as not requested."""
        if (feed := self._past.pop(origin, None)) is not None and feed.link is not None:
            _stop(self._outbox, feed)
            feed.link.past_requested.discard(origin)

    def _ask(self, origin: str, link: Link, command: str, *words: str) -> Subscription:
        tail = self._tails.add(origin)
        for line in _held_lines(origin, tail.committed):
            self._outbox.send(link, line)
        token = str(next(self._tokens))
        self._outbox.send(link, format_line(command, token, origin, *words))
        return Subscription(origin, link, token)

    # Receiving.

    def _from(self, link: Link, origin: str) -> Subscription | None:
        """Return the subscription that a line belongs to, or None if it was ended meanwhile."""
        for feed in (self._main.get(origin), self._past.get(origin)):
            if feed is not None and feed.link is link:
                return feed
        return None

    def on_feed(self, link: Link, token: str, origin: str, scope: Scope) -> bool:
        """Handle FEED, and return whether outgoing feeds of the origin have to restart."""
        feed = self._from(link, origin)
        if feed is None or feed.token != token:
            return False
        feed.is_answered = True
        feed.scope = intersect_scopes(scope, link.scope)
        feed.is_live = False
        return feed is self._main.get(origin)

    def take(self, link: Link, carried: CarriedEvent) -> bool:
        """Handle an event, and return whether to subscribe to the origin again. Raises MalformedLine."""
        origin = carried.event.origin
        feed = self._from(link, origin)
        if feed is None or not feed.is_answered:
            return False
        if feed.scope is not None and not is_all_within(carried.event, feed.scope):
            raise MalformedLine(f"{carried.event.command} is about more than the link is for")
        generation = generation_of(carried.event.seq)
        if not self._is_wanted(feed, generation):
            return False
        if feed.unannounced is not None and generation >= feed.unannounced:
            # Earlier events were skipped and have to come first.
            feed.stop()
            return True
        self._take(feed, carried)
        return False

    def _is_wanted(self, feed: Subscription, generation: int) -> bool:
        """Return whether an event of this generation may be taken from the feed. Raises MalformedLine."""
        if feed.past_before is not None:
            if generation >= feed.past_before:
                raise MalformedLine(
                    f"an event of generation {generation} of '{feed.origin}', "
                    f"of which only what is before {feed.past_before} was asked for"
                )
            return generation <= latest_generation(self._clock())
        if generation > self._hosts.records[feed.origin].generation:
            # The origin's record may still be on another route, or the relaying peer was lied to.
            feed.unannounced = min(generation, feed.unannounced or generation)
            return False
        return True

    def _take(self, feed: Subscription, carried: CarriedEvent) -> None:
        origin = feed.origin
        if origin == self._own_name:
            # Our own events may have been lost here; only a valid proof shows that we made them.
            own = self._proofs.checked(carried.event)
            if own is None:
                return
            carried = carried._replace(event=own)
        expected = self._tails[origin].expected
        event = expected.missing_part(carried.event)
        if event is None:
            expected.advance(carried.event.seq, feed.scope)
            return
        self._give(feed, event, is_replayed=carried.is_replayed)
        # Relay only what the local server accepted: peers would end their links to us for the rest.
        expected.advance(carried.event.seq, feed.scope)
        feed.gained += 1
        self._uncommitted.append(UncommittedEvent(event, feed, feed.scope, carried.is_replayed))

    def _give(self, feed: Subscription, event: EventRecord, *, is_replayed: bool) -> None:
        """Pass an event to the local server. Raises MalformedLine if it is refused."""
        origin = feed.origin
        name = "" if origin == self._own_name else origin
        stored = event._replace(origin=name, scope=format_scope(feed.scope))
        if feed.past_before is not None or (is_replayed and feed.is_live):
            # No snapshot follows this event.
            self._host.record_event(stored)
        else:
            self._host.apply_event(stored, is_replayed=is_replayed)

    def take_snapshot(self, link: Link, origin: str, levels: Levels, lines: list[str]) -> bool:
        """Apply the snapshot of an origin, and return whether to subscribe to it again."""
        feed = self._main.get(origin)
        if feed is None or feed.link is not link or not feed.is_answered:
            return False
        # The origin has not announced any generation beyond the current one.
        current = self._hosts.records[origin].generation
        levels = up_to(current, levels)
        if feed.scope is None and self._tails[origin].expected.newest_up_to(current) > newest(levels):
            if not self._is_to_be_believed(link, origin):
                return True
            self._tails[origin].lower_to(current, levels.get(current, -1))
        self._doubted.pop(origin, None)
        self._host.apply_snapshot(origin, lines, feed.scope)
        self._uncommitted.append(UncommittedSnapshot(feed, feed.scope, levels))
        feed.is_live = True
        return False

    def _is_to_be_believed(self, link: Link, origin: str) -> bool:
        """Return whether a lower level is true: from the origin itself, or repeated for DISTRUST_S."""
        if link.name == origin:
            return True
        doubted, since = self._doubted.get(origin, (link, self._timer()))
        if doubted is not link:
            since = self._timer()
        self._doubted[origin] = (link, since)
        return self._timer() - since >= DISTRUST_S

    def on_done(self, link: Link, token: str, origin: str, links: Mapping[str, Link]) -> None:
        """Handle DONE: tell other peers if past events arrived, and ask the next peer."""
        feed = self._past.get(origin)
        if feed is None or feed.link is not link or feed.token != token:
            return
        del self._past[origin]
        _stop(self._outbox, feed)
        if feed.gained:
            for other in links.values():
                if other is not link:
                    self._outbox.send(other, format_line("NEWS", origin))
        self._request_past(links.values())

    def commit(self) -> list[UncommittedEvent | UncommittedSnapshot]:
        """Advance the watermarks by what was just committed, and return it."""
        done, self._uncommitted = self._uncommitted, []
        for each in done:
            match each:
                case UncommittedEvent(event, feed, scope):
                    self._tails[feed.origin].add(event, scope)
                case UncommittedSnapshot(feed, scope, levels):
                    self._tails[feed.origin].raise_to(scope, levels)
        return done

    def give_up(self) -> list[str]:
        """Forget what could not be committed, and return the origins to subscribe to again.

        Until then their subscriptions accept nothing: later events would hide the gap.
        """
        lost, self._uncommitted = self._uncommitted, []
        for each in lost:
            each.feed.stop()
            self._tails[each.feed.origin].give_up()
        return sorted({each.feed.origin for each in lost})


def _stop(outbox: Outbox, feed: Subscription | None) -> None:
    if feed is not None and feed.link is not None and feed.link.is_up:
        outbox.send(feed.link, format_line("UNWANT", feed.origin))


def _held_lines(origin: str, committed: Watermarks) -> list[str]:
    """Return the watermarks of an origin as HELD lines."""
    return [
        format_line("HELD", origin, f"{scope}={format_levels(part)}")
        for scope, levels in sorted(committed.scopes().items())
        for part in split_levels(levels)
    ]
