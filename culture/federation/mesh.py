"""The mesh as one host sees it: a function of what its links say, what happens here, and the time.

The caller hands in connections, lines, what was committed and what was read, and carries out what `flush`
gives back. Nothing here waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from culture.federation.dialing import Dialing
from culture.federation.direct import Direct, Returning, Sending
from culture.federation.feeds import Feeds, Reached, Taken
from culture.federation.handshake import LinkRefusedError
from culture.federation.holding import Holding, Scope, parse_scope
from culture.federation.hosts import HostRecord
from culture.federation.link import Key, Link, Outbox, Read
from culture.federation.linking import Links
from culture.federation.numbers import parse_levels
from culture.federation.ports import DEFAULTS, DIRECT, Caller, Host, Levels, NoteKind, Peer, Settings
from culture.federation.serving import Served, Serving
from culture.federation.shelf import Shelves
from culture.federation.splits import Splits
from culture.federation.topology import Topology
from culture.federation.wire import Carried, decode, encode
from culture.protocol.happening import CROSSING, Happening, may_come_from
from culture.protocol.line import Line, MalformedLine, format_line, parse_line

AGAIN_S: Final = 5.0
"""After so long it is tried once more to write down what could not be."""


class BrokenLinkError(Exception):
    """A peer said what it may not say."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """A link, for people who ask."""

    name: str
    is_up: bool
    since: float | None = None
    lag_s: float | None = None
    channels: Scope = None
    lacking_here: tuple[str, ...] = ()
    """The origins of which we are still being told."""
    lacking_there: tuple[str, ...] = ()
    next_attempt_at: float | None = None


class Mesh:
    def __init__(
        self,
        name: str,
        host: Host,
        peers: Mapping[str, Peer],
        holdings: Mapping[str, Mapping[str, Levels]],
        *,
        generation: int,
        clock: Callable[[], float],
        timer: Callable[[], float],
        random: Callable[[], float],
        description: str = "",
        settings: Settings = DEFAULTS,
    ) -> None:
        """`generation` is the one that this host's events begin with; `random` is between 0 and 1."""
        self.name = name
        self._host = host
        self._timer = timer
        self._outbox = outbox = Outbox()
        self._shelves = Shelves(settings.recent_events)
        for origin, scopes in holdings.items():
            self._shelves.add(origin or name, _shared(scopes))
        self._shelves.add(name)
        up: dict[str, Link] = {}
        own = HostRecord(name, generation, 1, description=description)
        self._topology = Topology(own, up, outbox, clock, self._begin_generation)
        self.hosts = self._topology.hosts
        for origin in self._shelves:
            self.hosts.learn(HostRecord(origin))
        self._feeds = Feeds(host, outbox, self.hosts, self._shelves)
        self._serving = Serving(name, host, outbox, self._shelves, self._feeds.of, settings.chunk_events)
        self._direct = Direct(name, outbox, holdings, self._topology.direct_link, timer, settings)
        self._splits = Splits(self.hosts, timer, settings.split_after_s)
        self._dialing = Dialing(timer, random, settings.dial_most_s)
        self.links = Links(
            peers,
            up,
            settings,
            outbox,
            self._dialing,
            own=lambda: self.hosts.own,
            clock=clock,
            timer=timer,
            on_up=self._link_up,
            on_down=self._link_down,
        )
        self._held: dict[tuple[Link, str], Holding] = {}
        """What peers say that they hold, until they say what they want."""
        self._again_at: dict[str, float] = {}
        """When an origin is to be asked for again."""
        self._is_cut = False
        """A link is gone that is not worth waiting for."""

    # What arrives.

    def dialed(self, key: Key, name: str) -> None:
        """The connection to a host that we were to dial is there."""
        self.links.dialed(key, name)

    def undialed(self, name: str) -> None:
        """The connection did not come about."""
        self._dialing.lost(name)

    def offered(self, key: Key, secret: str, server: Line, caller: Caller) -> None:
        """A connection came to us and said PASS and SERVER. If it may not go on, it is told why not."""
        self.links.offered(key, secret, server, caller)

    def closed(self, key: Key, why: str) -> None:
        """The connection is gone."""
        self.links.closed(key, why)

    def connect(self, name: str) -> None:
        """Dial now, and by ourselves from now on."""
        self._dialing.seek(name)

    def disconnect(self, name: str, why: str) -> bool:
        """End a link until somebody connects again. Whether there was one."""
        return self.links.disconnect(name, why)

    def unsent(self, key: Key, waiting: int) -> None:
        """So many bytes wait to be taken by the other side."""
        if (link := self.links.find(key)) is not None:
            was_congested = link.is_congested
            link.unsent_bytes = waiting
            if was_congested and not link.is_congested:
                self._serving.stir(link)

    def received(self, key: Key, raw: bytes) -> None:
        """One line of a link, without its end."""
        link = self.links.find(key)
        if link is None:
            return
        link.heard_at = self._timer()
        try:
            if raw.startswith(b"HAS "):
                _snapshot_of(link)[2].append(raw[4:].decode())
            elif link.is_up:
                self._hear(link, parse_line(raw.decode()))
            else:
                self.links.shake_hands(link, parse_line(raw.decode()))
        except LinkRefusedError as refusal:
            self.links.refuse(link, refusal)
        except (BrokenLinkError, MalformedLine, ValueError, IndexError, OverflowError) as error:
            self._outbox.note(NoteKind.BROKEN, link.name, str(error))
            self.links.hang_up(link, f"Link broken: {error}")

    def happened(self, happened: Sequence[Happening]) -> None:
        """What happened here was committed. What came from elsewhere may be among it."""
        shelf = self._shelves[self.name]
        for each in happened:
            if each.origin or each.command not in CROSSING or each.is_local or each.scope != "*":
                continue
            mine = each._replace(origin=self.name)
            if mine.to:
                self._direct.send(mine)
            elif shelf.expected.lacking(mine) is not None:
                shelf.add(mine, None)
                self._serving.relay(mine, None, is_replayed=False)

    def not_recorded(self) -> None:
        """What happened in this turn could not be committed."""
        # Others may not do what this host thinks that they will: they do not hear of what it did.
        for origin in {*self._feeds.give_up(), *self.hosts.routes}:
            self._again_at[origin] = self._timer() + AGAIN_S
        self._direct.give_up()
        # What changed here is not told as events, so that the state has to be told.
        self._serving.restart(self.name)

    def found(self, read: Read, happenings: Sequence[Happening]) -> None:
        """What was to be read."""
        match read.asker:
            case Served() as served:
                self._serving.found(served, read.request, happenings)
            case Sending() | Returning() as asker:
                self._direct.found(asker, read.request, happenings)

    def unread(self, read: Read) -> None:
        """History could not be read: it is to be tried again."""
        match read.asker:
            case Served() as served:
                self._serving.unread(served)
                self._again_at[self.name] = self._timer() + AGAIN_S
            case Sending() | Returning() as asker:
                self._direct.unread(asker)

    def tick(self) -> None:
        """Time passed: about once in a second."""
        now = self._timer()
        self.links.tick()
        self._direct.tick()
        for origin in [each for each, at in self._again_at.items() if at <= now]:
            del self._again_at[origin]
            self._feeds.want_again(origin, self.links.up)
            for link in self.links.up.values():
                self._serving.stir(link)
        for between, origins in self._splits.over(self._host.shown()).items():
            self._outbox.note(NoteKind.SPLIT, between[1], f"split from {', '.join(origins)}")
            self._host.lost(origins, between)

    def flush(self) -> Outbox:
        """At the end of a turn, when what happened is committed: what is to be carried out."""
        for each in self._feeds.commit():
            match each:
                case Taken(happening, _, scope, is_replayed):
                    self._serving.relay(happening, scope, is_replayed=is_replayed)
                case Reached(feed):
                    self._serving.restart(feed.origin)
        self._direct.commit()
        if self._topology.is_changed:
            self._find_ways()
        self._serving.advance()
        return self._outbox.take()

    # For those who ask.

    def takes_direct(self, name: str) -> bool:
        """Whether direct messages can go to a host: not by a way that is limited to channels."""
        return self._topology.direct_link(name) is not None

    def status(self) -> list[LinkStatus]:
        up = self.links.up
        return [
            LinkStatus(
                name,
                is_up=True,
                since=up[name].since,
                lag_s=up[name].lag_s,
                channels=up[name].scope,
                lacking_here=tuple(self._feeds.behind(up[name])),
                lacking_there=tuple(self._serving.behind(up[name])),
            )
            if name in up
            else LinkStatus(name, is_up=False, next_attempt_at=self._dialing.next_at(name))
            for name in sorted(self.links.peers)
        ]

    # Links and the ways over them.

    def _link_up(self, link: Link) -> None:
        self._topology.greet(link)

    def _link_down(self, link: Link, is_final: bool) -> None:
        self._serving.gone(link)
        self._held = {key: held for key, held in self._held.items() if key[0] is not link}
        self._is_cut = self._is_cut or is_final
        self._topology.claim_links()

    def _begin_generation(self, generation: int) -> None:
        """What we called the present is a part of the past, of which peers may know more."""
        self._host.begin_generation(generation)
        self._feeds.seek_again(self.name, self.links.up)

    def _find_ways(self) -> None:
        changed = self._topology.find_ways()
        for origin in self._feeds.follow_routes(self.links.up):
            self._serving.restart(origin)
        self._splits.follow_routes(self._host.shown(), at_once=self._is_cut)
        self._is_cut = False
        for name in changed:
            self._direct.way_changed(name)

    # What links say.

    def _hear(self, link: Link, line: Line) -> None:
        if line.tags:
            self._hear_event(link, decode(line))
            return
        params = line.params
        match line.command:
            case "PING":
                self._outbox.send(link, format_line("PONG", params[0]))
            case "PONG":
                self.links.ponged(link)
            case "HOST":
                self._topology.learn(link, line)
            case "HELD":
                held = self._held.setdefault((link, params[0]), Holding())
                for word in params[1:]:
                    scope, _, levels = word.rpartition("=")
                    held.raise_to(parse_scope(scope), parse_levels(levels))
            case "WANT":
                self._serving.wanted(link, params[0], params[1], self._take_held(link, params[1]))
            case "SEEK":
                held = self._take_held(link, params[1])
                self._serving.wanted(link, params[0], params[1], held, past_before=_generation(params[2]))
            case "UNWANT":
                self._serving.unwanted(link, params[0])
            case "FEED":
                if self._feeds.scoped(link, params[0], params[1], parse_scope(params[2])):
                    self._serving.restart(params[1])
            case "STATE":
                link.snapshot = (params[0], params[1], [])
            case "STATEEND":
                origin, levels, lines = _snapshot_of(link)
                link.snapshot = None
                if self._feeds.take_snapshot(link, origin, parse_levels(levels), lines):
                    self._again_at[origin] = self._timer() + AGAIN_S
            case "DONE":
                self._feeds.ended(link, params[0], params[1], self.links.up)
            case "NEWS":
                self._feeds.news(link, params[0], self.links.up)
            case "ASK" | "ACK":
                self._hear_direct(link, line)
            case "ERROR":
                self._outbox.closings.append((link.key, params[0]))
                self.links.closed(link.key, params[0])
            case command:
                raise BrokenLinkError(f"'{command}' is no command of a link")

    def _take_held(self, link: Link, origin: str) -> Holding:
        return self._held.pop((link, origin), None) or Holding()

    def _hear_event(self, link: Link, carried: Carried) -> None:
        happening = carried.happening
        origin = happening.origin
        if not may_come_from(happening.source, origin):
            raise BrokenLinkError(f"'{happening.source}' is not of the host '{origin}'")
        if not happening.to:
            self._feeds.take(link, carried)
            return
        sender, to = (happening.to, origin) if carried.is_returned else (origin, happening.to)
        if not self._may_come_by(link, sender):
            return
        if to != self.name:
            self._carry(link, to, encode(carried._replace(hops=carried.hops - 1)), carried.hops)
        elif self._direct.is_next(carried):
            if carried.is_returned:
                self._host.write_down(happening._replace(origin=""))
            else:
                self._host.take(happening, is_replayed=False)

    def _hear_direct(self, link: Link, line: Line) -> None:
        """ASK and ACK: who says it, to whom, over how many links at most, and how far it is."""
        source, to, hops, *levels = line.params
        if not self._may_come_by(link, source):
            return
        if to != self.name:
            further = format_line(line.command, source, to, str(int(hops) - 1), *levels)
            self._carry(link, to, further, int(hops))
        elif line.command == "ASK":
            self._direct.asked(source, parse_levels(levels[0]))
        else:
            self._direct.acknowledged(source, parse_levels(levels[0]))

    def _may_come_by(self, link: Link, origin: str) -> bool:
        """What is between two hosts: not by a limited link, nor from elsewhere if the way is a link."""
        if origin == self.name or link.scope is not None:
            return False
        own_link = self.links.up.get(origin)
        return own_link is None or own_link is link or own_link.scope is not None

    def _carry(self, link: Link, to: str, line: str, hops: int) -> None:
        """A step further, not back. What does not arrive is sent again by its origin."""
        way = self._topology.direct_link(to)
        if way is not None and way is not link and hops > 1 and not way.is_congested:
            self._outbox.send(way, line)


def _shared(scopes: Mapping[str, Levels]) -> dict[str, Levels]:
    """Without what is known of direct messages."""
    return {scope: levels for scope, levels in scopes.items() if not scope.startswith(DIRECT)}


def _generation(text: str) -> int:
    return int(text) if text != "*" else 1 << 32


def _snapshot_of(link: Link) -> tuple[str, str, list[str]]:
    if link.snapshot is None:
        raise BrokenLinkError("a line of a snapshot outside of one")
    return link.snapshot
