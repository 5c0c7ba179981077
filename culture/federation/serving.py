"""What peers want of us: the log and the state of an origin, first what they lack, then what is new.

A peer is brought up to date scope by scope: everything, as far as we have everything, then single channels of
which we have more. When nothing lacks and our own feed is up to date, it gets a snapshot, and from then on
every event as it is committed. The three follow each other in one turn, so that nothing falls between them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from culture.federation.feed import Feed
from culture.federation.holding import BEYOND, Holding, Scope, format_scope, narrower, within
from culture.federation.link import Link, Outbox, Read
from culture.federation.numbers import covers, format_levels, generation_of, highest_number, split_levels
from culture.federation.ports import Host, Levels, ReadRequest
from culture.federation.shelf import Shelves
from culture.federation.wire import Carried, encode
from culture.names import Folded
from culture.protocol.happening import Happening
from culture.protocol.line import format_line


@dataclass(slots=True, eq=False)
class Served:
    """What one peer gets of one origin."""

    link: Link
    origin: str
    token: str
    held: Holding
    """What it has, as it said, and what it was sent since."""
    is_answered: bool = False
    scope: Scope = frozenset()
    """What it was told that it gets now."""
    is_live: bool = False
    """It gets every event as it is committed."""
    is_at_end: bool = False
    """It was told that there is no more for now."""
    past_before: int | None = None
    """Only earlier generations are wanted, and no state."""
    pass_of: tuple[Scope, Levels] | None = None
    """What is being read for it: which scope, and up to where."""


class Serving:
    def __init__(
        self,
        own_name: str,
        host: Host,
        outbox: Outbox,
        shelves: Shelves,
        feed_of: Callable[[str], Feed | None],
        chunk: int,
    ) -> None:
        """`chunk`: how many events are read at a time."""
        self._own_name = own_name
        self._host = host
        self._outbox = outbox
        self._shelves = shelves
        self._feed_of = feed_of
        self._chunk = chunk
        self._served: dict[str, dict[Link, Served]] = {}
        self._stirred: dict[Served, None] = {}
        """Those for whom there may be something to do."""

    def wanted(
        self, link: Link, token: str, origin: str, held: Holding, past_before: int | None = None
    ) -> None:
        served = Served(link, origin, token, held, past_before=past_before)
        self._served.setdefault(origin, {})[link] = served
        self._stirred[served] = None

    def unwanted(self, link: Link, origin: str) -> None:
        self._served.get(origin, {}).pop(link, None)

    def gone(self, link: Link) -> None:
        for of_origin in self._served.values():
            of_origin.pop(link, None)

    def behind(self, link: Link) -> list[str]:
        """The origins of which a peer has not everything that we have."""
        served = [peers[link] for peers in self._served.values() if link in peers]
        return [each.origin for each in served if not each.is_live and not each.is_at_end]

    def restart(self, origin: str) -> None:
        """What we get of an origin is different from now on, and so is what we pass on."""
        for served in self._served.get(origin, {}).values():
            served.is_at_end = False
            self._fall_behind(served)

    def stir(self, link: Link) -> None:
        """There is room on a link again."""
        for of_origin in self._served.values():
            if link in of_origin and not of_origin[link].is_live:
                self._stirred[of_origin[link]] = None

    def relay(self, happening: Happening, scope: Scope, *, is_replayed: bool) -> None:
        """Something was committed that came, or is, of this scope."""
        origin = happening.origin
        peers = self._served.get(origin)
        if not peers:
            return
        feed = self._feed_of(origin)
        line = ""
        for link, served in peers.items():
            if not served.is_live:
                served.is_at_end = False
                self._stirred[served] = None
            elif feed is None or scope != feed.scope or link.is_congested:
                # It gets it like what it lacks, in the right place and when there is room.
                self._fall_behind(served)
            elif (passing := within(happening, served.scope)) is None:
                if happening.command in BEYOND:
                    # A channel left what the link may know, or came into it: only the state can say so.
                    self._fall_behind(served)
            elif served.held.lacking(passing) is passing:
                served.held.took(happening.seq, served.scope)
                if passing is happening:
                    line = line or encode(Carried(happening, is_replayed))
                    self._outbox.send(link, line)
                else:
                    self._outbox.send(link, encode(Carried(passing, is_replayed)))
            elif (part := served.held.lacking(passing)) is not None:
                served.held.took(happening.seq, served.scope)
                self._outbox.send(link, encode(Carried(part, is_replayed)))

    def _fall_behind(self, served: Served) -> None:
        """What it gets next is what it lacks, and it is told so."""
        served.is_live = served.is_answered = False
        self._stirred[served] = None

    def advance(self) -> None:
        """At the end of a turn, when all that happened is committed."""
        stirred, self._stirred = self._stirred, {}
        for served in stirred:
            self._advance(served)

    def _advance(self, served: Served) -> None:
        if served.is_live or served.pass_of is not None or served.link.is_congested or self._is_over(served):
            return
        if self._catch_up(served):
            feed = self._feed_of(served.origin)
            if feed is None or feed.link is served.link or served.past_before is not None:
                self._say_end(served)
            elif feed.is_live:
                self._go_live(served, narrower(feed.scope, served.link.scope))

    def _is_over(self, served: Served) -> bool:
        return self._served.get(served.origin, {}).get(served.link) is not served

    def _catch_up(self, served: Served) -> bool:
        """Whether nothing lacks any more; otherwise something is to be read first."""
        shelf = self._shelves.get(served.origin)
        if shelf is None:
            return True
        if served.past_before is not None:
            served.held.raise_to(None, _from_generation(served.past_before, shelf.holding))
        for scope in _passes(shelf.holding, served.link.scope):
            start, end = served.held.level(scope), shelf.holding.level(scope)
            if covers(start, end):
                continue
            if not shelf.reaches(start, end):
                self._read(served, scope, start, end)
                return False
            self._tell(served, scope, shelf.between(start, end))
            served.held.raise_to(scope, end)
        return True

    def _read(self, served: Served, scope: Scope, start: Levels, end: Levels) -> None:
        served.pass_of = (scope, end)
        origin = "" if served.origin == self._own_name else served.origin
        known = self._shelves[served.origin].holding.generations()
        # Of channels more may be here than the peer gets in this pass, also more than is read at a time.
        over = {each: highest_number(each) for each in known if start.get(each, -1) >= end.get(each, -1)}
        request = ReadRequest(origin, {**start, **over}, channels=scope, most=self._chunk)
        self._outbox.reads.append(Read(request, served))

    def found(self, served: Served, request: ReadRequest, happenings: Sequence[Happening]) -> None:
        """What was read."""
        if served.pass_of is None:
            return
        (scope, end), served.pass_of = served.pass_of, None
        if self._is_over(served):
            return
        self._tell(served, scope, [each for each in happenings if _is_before(each, end)])
        if len(happenings) < request.most:
            served.held.raise_to(scope, end)
        else:
            # The read is in order: of earlier generations than its last there is nothing left.
            newest = generation_of(happenings[-1].seq)
            served.held.raise_to(scope, {each: number for each, number in end.items() if each < newest})
            served.held.took(min(happenings[-1].seq, end.get(newest, 0)), scope)
        self._stirred[served] = None

    def unread(self, served: Served) -> None:
        """History could not be asked: it is tried again when something else stirs the link."""
        served.pass_of = None

    def _tell(self, served: Served, scope: Scope, happenings: Sequence[Happening]) -> None:
        """What of this the peer lacks, as part of a scope."""
        for each in happenings:
            passing = within(each, scope)
            part = served.held.lacking(passing) if passing is not None else None
            if part is not None:
                self._announce(served, scope)
                self._outbox.send(served.link, encode(Carried(part._replace(origin=served.origin), True)))

    def _announce(self, served: Served, scope: Scope) -> None:
        if served.scope != scope or not served.is_answered:
            served.scope, served.is_answered = scope, True
            line = format_line("FEED", served.token, served.origin, format_scope(scope))
            self._outbox.send(served.link, line)

    def _go_live(self, served: Served, scope: Scope) -> None:
        self._announce(served, scope)
        send, link, origin = self._outbox.send, served.link, served.origin
        levels = self._shelves[origin].holding.level(scope) if origin in self._shelves else {}
        # Of what is older the peer finds out by asking again.
        newest = split_levels(levels)[-1:]
        send(link, format_line("STATE", origin, format_levels(newest[0] if newest else {})))
        for line in self._host.snapshot(origin, scope):
            send(link, f"HAS {line}")
        send(link, format_line("STATEEND", origin))
        served.held.raise_to(scope, levels)
        served.is_live = True

    def _say_end(self, served: Served) -> None:
        if not served.is_at_end:
            served.is_at_end = True
            self._outbox.send(served.link, format_line("DONE", served.token, served.origin))


def _passes(holding: Holding, scope: Scope) -> Iterator[Scope]:
    """In which parts a peer is told what it lacks: each is complete up to a number of its own."""
    further = [channel for channel in sorted(holding.further()) if scope is None or channel in scope]
    if scope is None or not further:
        yield scope
        yield from (frozenset({channel}) for channel in further)
    else:
        yield from (frozenset({Folded(channel)}) for channel in sorted(scope))


def _from_generation(first: int, holding: Holding) -> Levels:
    """As if everything were here that is not of earlier ones."""
    return {each: highest_number(each) for each in holding.generations() if each >= first}


def _is_before(happening: Happening, end: Levels) -> bool:
    return happening.seq <= end.get(generation_of(happening.seq), -1)
