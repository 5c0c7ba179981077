"""What we want of peers: of each origin the log and the state, from the next host on the way to it.

Besides that each peer is asked once for the past of each origin: of hosts that are out of reach, and of
earlier generations, which a host may have lost that was restored from an older backup. So whatever anybody in
the mesh still has finds its way to everybody.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from culture.federation.feed import Feed
from culture.federation.holding import Holding, Scope, format_scope, narrower
from culture.federation.hosts import Hosts
from culture.federation.link import Link, Outbox
from culture.federation.numbers import format_levels, newest, split_levels
from culture.federation.ports import Host, Levels
from culture.federation.shelf import Shelves
from culture.federation.wire import Carried
from culture.protocol.happening import Happening
from culture.protocol.line import format_line


class Taken(NamedTuple):
    """An event that the host got, and that is not committed yet."""

    happening: Happening
    feed: Feed
    scope: Scope
    is_replayed: bool


class Reached(NamedTuple):
    """The host got a snapshot: everything up to there is here once this turn is committed."""

    feed: Feed
    scope: Scope
    levels: Levels


class Feeds:
    def __init__(self, host: Host, outbox: Outbox, hosts: Hosts, shelves: Shelves) -> None:
        self._own_name = hosts.own_name
        self._host = host
        self._outbox = outbox
        self._hosts = hosts
        self._shelves = shelves
        self._own = Feed(self._own_name, None, scope=None, is_live=True)
        self._main: dict[str, Feed] = {}
        self._past: dict[str, Feed] = {}
        """One peer at a time is asked for what is over."""
        self._tokens = itertools.count(1)
        self._uncommitted: list[Taken | Reached] = []

    def of(self, origin: str) -> Feed | None:
        return self._own if origin == self._own_name else self._main.get(origin)

    def behind(self, link: Link) -> list[str]:
        """The origins of which this peer is still telling us what we lack."""
        feeds = [*self._main.values(), *self._past.values()]
        return [feed.origin for feed in feeds if feed.link is link and not feed.is_live]

    # Whom we ask.

    def follow_routes(self, links: Mapping[str, Link]) -> list[str]:
        """Ask the right peers, after links or routes changed. The origins that we get from elsewhere now."""
        changed = []
        for origin in sorted(self._hosts.records.keys() - {self._own_name}):
            route = self._hosts.routes.get(origin)
            link = links.get(route.next_hop) if route is not None else None
            feed = self._main.get(origin)
            if (feed.link if feed is not None else None) is not link:
                changed.append(origin)
                self._leave_past(origin)
                _stop(self._outbox, self._main.pop(origin, None))
                if link is not None:
                    self._main[origin] = self._ask(origin, link, "WANT")
        self._seek(links.values())
        return changed

    def want_again(self, origin: str, links: Mapping[str, Link]) -> None:
        """What came could not be committed: it is to come once more."""
        if (feed := self._main.get(origin)) is not None and feed.link is not None:
            self._main[origin] = self._ask(origin, feed.link, "WANT")
        # Who told us all of the past counts as asked, and cannot know that it was lost again.
        self.seek_again(origin, links)
        self._seek(links.values())

    def seek_again(self, origin: str, links: Mapping[str, Link]) -> None:
        """At the next occasion, of every peer."""
        self._leave_past(origin)
        for link in links.values():
            link.sought.discard(origin)

    def news(self, link: Link, origin: str, links: Mapping[str, Link]) -> None:
        """A peer learned something of an origin's past."""
        link.sought.discard(origin)
        self._seek(links.values())

    def _seek(self, links: Iterable[Link]) -> None:
        # Until a link counts, nobody knows which hosts are there, and what of theirs is the past.
        counting = [link for link in links if self._hosts.link(self._own_name, link.name)[0]]
        ordered = sorted(counting, key=lambda link: link.name)
        for origin in self._hosts.records:
            feed = self._past.get(origin)
            if feed is not None and feed.link in ordered:
                continue
            self._past.pop(origin, None)
            main = self._main.get(origin)
            for link in ordered:
                if origin not in link.sought and (main is None or main.link is not link):
                    link.sought.add(origin)
                    self._past[origin] = self._ask(origin, link, "SEEK", self._past_of(origin))
                    break

    def _past_of(self, origin: str) -> str:
        """The generation that the past ends before: a host that is there says itself what happens now."""
        if origin != self._own_name and origin not in self._hosts.routes:
            return "*"
        return str(self._hosts.records[origin].generation)

    def _leave_past(self, origin: str) -> None:
        """To be asked for again, since what is the past is different now."""
        if (feed := self._past.pop(origin, None)) is not None and feed.link is not None:
            _stop(self._outbox, feed)
            feed.link.sought.discard(origin)

    def _ask(self, origin: str, link: Link, command: str, *words: str) -> Feed:
        shelf = self._shelves.add(origin)
        for line in _held_lines(origin, shelf.holding):
            self._outbox.send(link, line)
        token = str(next(self._tokens))
        self._outbox.send(link, format_line(command, token, origin, *words))
        return Feed(origin, link, token)

    # What they answer.

    def _from(self, link: Link, origin: str) -> Feed | None:
        """A line may be under way that was sent before we told the peer to stop."""
        for feed in (self._main.get(origin), self._past.get(origin)):
            if feed is not None and feed.link is link:
                return feed
        return None

    def scoped(self, link: Link, token: str, origin: str, scope: Scope) -> bool:
        """FEED. Whether what we pass on of the origin is different from now on."""
        feed = self._from(link, origin)
        if feed is None or feed.token != token:
            return False
        feed.is_answered = True
        feed.scope = narrower(scope, link.scope)
        feed.is_live = False
        return feed is self._main.get(origin)

    def take(self, link: Link, carried: Carried) -> None:
        origin = carried.happening.origin
        feed = self._from(link, origin)
        if feed is None or not feed.is_answered:
            return
        expected = self._shelves[origin].expected
        happening = expected.lacking(carried.happening)
        expected.took(carried.happening.seq, feed.scope)
        if happening is None:
            return
        feed.gained += 1
        self._uncommitted.append(Taken(happening, feed, feed.scope, carried.is_replayed))
        name = "" if origin == self._own_name else origin
        stored = happening._replace(origin=name, scope=format_scope(feed.scope))
        if feed is self._past.get(origin) or (carried.is_replayed and feed.is_live):
            # No snapshot follows it.
            self._host.write_down(stored)
        else:
            self._host.take(stored, is_replayed=carried.is_replayed)

    def take_snapshot(self, link: Link, origin: str, levels: Levels, lines: list[str]) -> bool:
        """Whether it is to be asked for again: a peer may know less than came by another way before."""
        feed = self._main.get(origin)
        if feed is None or feed.link is not link or not feed.is_answered:
            return False
        if feed.scope is None and self._shelves[origin].expected.newest > newest(levels):
            return True
        self._uncommitted.append(Reached(feed, feed.scope, levels))
        feed.is_live = True
        self._host.take_snapshot(origin, lines, feed.scope)
        return False

    def ended(self, link: Link, token: str, origin: str, links: Mapping[str, Link]) -> None:
        """DONE. What was found is news for the other peers; and somebody else may know more."""
        feed = self._past.get(origin)
        if feed is None or feed.link is not link or feed.token != token:
            return
        del self._past[origin]
        _stop(self._outbox, feed)
        if feed.gained:
            for other in links.values():
                if other is not link:
                    self._outbox.send(other, format_line("NEWS", origin))
        self._seek(links.values())

    def commit(self) -> list[Taken | Reached]:
        """All that was taken is written down now."""
        done, self._uncommitted = self._uncommitted, []
        for each in done:
            match each:
                case Taken(happening, feed, scope):
                    self._shelves[feed.origin].add(happening, scope)
                case Reached(feed, scope, levels):
                    self._shelves[feed.origin].raise_to(scope, levels)
        return done

    def give_up(self) -> list[str]:
        """What was taken could not be written down. The origins that it was of, to be asked for again.

        Until then nothing more is taken: it would seem as if nothing before it lacked.
        """
        lost, self._uncommitted = self._uncommitted, []
        for each in lost:
            each.feed.token, each.feed.is_answered, each.feed.is_live = "", False, False
            self._shelves[each.feed.origin].give_up()
        return sorted({each.feed.origin for each in lost})


def _stop(outbox: Outbox, feed: Feed | None) -> None:
    if feed is not None and feed.link is not None and feed.link.is_up:
        outbox.send(feed.link, format_line("UNWANT", feed.origin))


def _held_lines(origin: str, holding: Holding) -> list[str]:
    """As many as it takes."""
    return [
        format_line("HELD", origin, f"{scope}={format_levels(part)}")
        for scope, levels in sorted(holding.scopes().items())
        for part in split_levels(levels)
    ]
