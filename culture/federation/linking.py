"""Connections to peers, from the first line to the last: called or calling, up, silent, gone."""

from collections.abc import Callable, Mapping
from typing import Final

from culture.federation.attempts import Attempts
from culture.federation.dialing import Dialing
from culture.federation.handshake import (
    UNPROVED,
    Greeting,
    LinkRefusedError,
    check_called,
    check_caller,
    greeting,
    introduction,
    read_greeting,
)
from culture.federation.holding import format_scope, narrower
from culture.federation.hosts import HostRecord
from culture.federation.link import Key, Link, Outbox, Stage
from culture.federation.ports import Caller, NoteKind, Peer, Settings
from culture.protocol.line import Line, format_line

SILENT: Final = "Ping timeout"
TOO_OFTEN: Final = "Link refused: too many attempts, wait a minute"


class Links:
    def __init__(
        self,
        peers: Mapping[str, Peer],
        up: dict[str, Link],
        settings: Settings,
        outbox: Outbox,
        dialing: Dialing,
        *,
        own: Callable[[], HostRecord],
        clock: Callable[[], float],
        timer: Callable[[], float],
        on_up: Callable[[Link], None],
        on_down: Callable[[Link, bool], None],
    ) -> None:
        """`up` is filled here, by names. `on_down` also learns whether the link is gone for good."""
        self.peers = dict(peers)
        self.up = up
        self._settings = settings
        self._outbox = outbox
        self._dialing = dialing
        self._own = own
        self._clock = clock
        self._timer = timer
        self._on_up = on_up
        self._on_down = on_down
        self._links: dict[Key, Link] = {}
        self._attempts = Attempts(timer)
        for peer in self.peers.values():
            if peer.is_dialed:
                dialing.seek(peer.name)

    def find(self, key: Key) -> Link | None:
        return self._links.get(key)

    # How a link begins.

    def dialed(self, key: Key, name: str) -> None:
        self._begin(key, self.peers[name], Stage.CALLING)

    def offered(self, key: Key, secret: str, server: Line, caller: Caller) -> None:
        taken = [each.name for each in self._links.values() if each.stage in (Stage.CALLED, Stage.UP)]
        try:
            if self._attempts.are_too_many(caller.address):
                raise LinkRefusedError("tries too often", TOO_OFTEN)
            peer = check_caller(self._own().name, self.peers, taken, secret, server, caller)
            self._give_way(peer)
        except LinkRefusedError as refusal:
            if refusal.told == UNPROVED:
                self._attempts.failed(caller.address)
            self._outbox.lines.setdefault(key, []).append(format_line("ERROR", refusal.told, trailing=True))
            self._outbox.closings.append((key, str(refusal)))
            self._outbox.note(NoteKind.REFUSED, server.param(0), f"{caller.address} {refusal}")
            return
        link = self._begin(key, peer, Stage.CALLED)
        self._greet(link)

    def _begin(self, key: Key, peer: Peer, stage: Stage) -> Link:
        now = self._timer()
        link = self._links[key] = Link(key, peer, stage, now, now, self._settings.congested_bytes)
        own = self._own()
        for line in introduction(peer.secret, own.name, own.description):
            self._outbox.send(link, line)
        return link

    def _give_way(self, peer: Peer) -> None:
        """Two hosts that call each other at the same time: the call of the one that sorts first counts."""
        for link in list(self._links.values()):
            if link.peer is peer and link.stage is Stage.CALLING:
                if self._own().name < peer.name:
                    told = f"Link refused: {peer.name} is being called"
                    raise LinkRefusedError(f"'{peer.name}' is being called already", told)
                self.hang_up(link, "It called us")

    def _greet(self, link: Link) -> None:
        own, at_ms = self._own(), int(self._clock() * 1000)
        self._outbox.send(link, greeting(own.generation, at_ms, link.peer.channels))

    def shake_hands(self, link: Link, line: Line) -> None:
        """A line of a link that is not up yet. Raises LinkRefusedError."""
        if line.command == "ERROR":
            raise LinkRefusedError(f"refused us: {line.param(0)}")
        if link.stage is Stage.CALLED or link.is_introduced:
            self._go_up(link, read_greeting(line))
        elif line.command == "PASS":
            link.secret = line.param(0)
        elif line.command == "SERVER":
            check_called(link.peer, link.secret, line)
            link.secret, link.is_introduced = "", True
        else:
            raise LinkRefusedError(f"said '{line.command}' before it said who it is")

    def _go_up(self, link: Link, greeted: Greeting) -> None:
        if link.name in self.up:
            raise LinkRefusedError(f"'{link.name}' is linked already", "Link refused: linked already")
        if link.stage is Stage.CALLING:
            self._greet(link)
        link.stage = Stage.UP
        link.since = self._timer()
        link.scope = narrower(link.peer.channels, greeted.channels)
        self.up[link.name] = link
        self._dialing.linked(link.name)
        limit = "" if link.scope is None else f", limited to {format_scope(link.scope) or 'nothing'}"
        self._outbox.note(NoteKind.LINKED, link.name, f"linked{limit}")
        skew_s = greeted.at_ms / 1000 - self._clock()
        if abs(skew_s) > self._settings.skew_s:
            self._outbox.note(NoteKind.SKEWED, link.name, f"its clock differs from ours by {skew_s:+.1f} s")
        self._on_up(link)

    # How it ends.

    def closed(self, key: Key, why: str) -> None:
        if (link := self._links.get(key)) is not None:
            self._forget(link, why, is_final=False)

    def refuse(self, link: Link, refusal: LinkRefusedError) -> None:
        self._outbox.note(NoteKind.REFUSED, link.name, str(refusal))
        self.hang_up(link, refusal.told)

    def hang_up(self, link: Link, why: str, *, is_final: bool = False) -> None:
        """Say why, and close."""
        self._outbox.send(link, format_line("ERROR", why, trailing=True))
        self._outbox.closings.append((link.key, why))
        self._forget(link, why, is_final=is_final)

    def disconnect(self, name: str, why: str) -> bool:
        """End a link until somebody connects again. Whether there was one."""
        self._dialing.leave(name)
        link = self.up.get(name)
        if link is not None:
            self.hang_up(link, why, is_final=True)
        return link is not None

    def _forget(self, link: Link, why: str, *, is_final: bool) -> None:
        was_up, link.stage = link.is_up, Stage.CLOSED
        del self._links[link.key]
        self._dialing.lost(link.name)
        if was_up:
            del self.up[link.name]
            self._outbox.note(NoteKind.UNLINKED, link.name, why)
            self._on_down(link, is_final)

    # While it lasts.

    def tick(self) -> None:
        now = self._timer()
        for link in list(self._links.values()):
            if link.is_up:
                self._keep_alive(link, now)
            elif now - link.since >= self._settings.handshake_s:
                self.refuse(link, LinkRefusedError("did not say in time who it is"))
        busy = {link.name for link in self._links.values()}
        self._outbox.dials += self._dialing.due(busy)

    def _keep_alive(self, link: Link, now: float) -> None:
        if link.ping_sent_at is not None:
            if now - max(link.ping_sent_at, link.heard_at) >= self._settings.ping_timeout_s:
                self.hang_up(link, SILENT, is_final=True)
        elif now - max(link.since, link.pinged_at) >= self._settings.ping_interval_s:
            link.ping_sent_at = link.pinged_at = now
            self._outbox.send(link, format_line("PING", self._own().name))

    def ponged(self, link: Link) -> None:
        if link.ping_sent_at is not None:
            link.lag_s, link.ping_sent_at = self._timer() - link.ping_sent_at, None
