"""Open, authenticate, keep alive and close the links to peers."""

from collections.abc import Callable, Mapping
from typing import Final

from culture.federation.feeds.watermarks import format_scope, intersect_scopes
from culture.federation.hosts import HostRecord
from culture.federation.links.attempts import HandshakeFailures
from culture.federation.links.callers import PendingCaller
from culture.federation.links.challenge import LinkChallenge, Role
from culture.federation.links.dial_schedule import DialSchedule
from culture.federation.links.handshake import (
    OLD_VERSION,
    PLAIN,
    TOO_OFTEN,
    Greeting,
    LinkRefusedError,
    check_caller,
    check_name,
    check_plain_called,
    check_plain_caller,
    is_pinned,
    link_line,
    plain_server_lines,
    proof_line,
    proved_secret,
    read_greeting,
    read_nonce,
    refused_by,
    server_line,
)
from culture.federation.links.link import ConnectionKey, Link, LinkStage, Outbox
from culture.federation.ports import Caller, MeshNoteKind, MeshSettings, Peer
from culture.protocol.line import Line, MalformedLine, format_line, parse_line

SILENT: Final = "Ping timeout"
LATE: Final = "Link refused: you did not prove in time who you are"


class LinkManager:
    """All connections to peers, from the handshake until they are closed."""

    def __init__(
        self,
        peers: Mapping[str, Peer],
        up: dict[str, Link],
        settings: MeshSettings,
        outbox: Outbox,
        dialing: DialSchedule,
        *,
        own: Callable[[], HostRecord],
        clock: Callable[[], float],
        timer: Callable[[], float],
        new_nonce: Callable[[], str],
        on_up: Callable[[Link], None],
        on_down: Callable[[Link, bool], None],
    ) -> None:
        """`up` is filled here, by name. `on_down(link, is_final)` says whether a link went down for good."""
        self.peers = dict(peers)
        self.up = up
        self._settings = settings
        self._outbox = outbox
        self._dialing = dialing
        self._own = own
        self._clock = clock
        self._timer = timer
        self._new_nonce = new_nonce
        self._on_up = on_up
        self._on_down = on_down
        self._links: dict[ConnectionKey, Link] = {}
        self._pending_callers: dict[ConnectionKey, PendingCaller] = {}
        self._failures = HandshakeFailures(timer, self.peers)
        for peer in self.peers.values():
            if peer.is_dialed:
                dialing.dial_now(peer.name)

    def find(self, key: ConnectionKey) -> Link | None:
        """Return the link of a connection, or None."""
        return self._links.get(key)

    # Handshake of links that we dialed.

    def dialed(self, key: ConnectionKey, name: str) -> None:
        """Begin the handshake on a connection that we dialed."""
        peer, own = self.peers[name], self._own()
        link = self._begin(key, peer, Role.CALLER, LinkStage.INTRODUCED)
        if peer.plain_secret:
            for line in plain_server_lines(peer.secret, own.name, own.description):
                self._outbox.send(link, line)
        else:
            link.nonce = self._new_nonce()
            self._outbox.send(link, server_line(own.name, link.nonce))

    def _begin(self, key: ConnectionKey, peer: Peer, role: Role, stage: LinkStage) -> Link:
        now = self._timer()
        link = self._links[key] = Link(key, peer, role, stage, now, now, self._settings.congested_bytes)
        return link

    def on_handshake_line(self, link: Link, line: Line) -> None:
        """Handle a line of a link that is not up yet. Raises LinkRefusedError."""
        if line.command == "ERROR":
            raise refused_by(line)
        match link.stage:
            case LinkStage.INTRODUCED if link.peer.plain_secret:
                self._on_plain(link, line)
            case LinkStage.INTRODUCED:
                self._on_challenge(link, line)
            case LinkStage.PROVING:
                self._on_proof(link, line)
            case LinkStage.PROVED:
                self._go_up(link, read_greeting(line))
            case LinkStage.UP | LinkStage.CLOSED:
                pass

    def _on_plain(self, link: Link, line: Line) -> None:
        """Handle the reply of a host to which we sent the secret by PASS."""
        if line.command == "PASS":
            link.secret = line.param(0)
        elif line.command == "SERVER":
            check_plain_called(link.peer, link.secret, line)
            link.secret, link.stage = "", LinkStage.PROVED
        else:
            raise _too_early(line)

    def _on_challenge(self, link: Link, line: Line) -> None:
        """Answer the nonce of a host that we dialed with our proof."""
        if line.command == "PASS" or (line.command == "SERVER" and line.param(1) == PLAIN):
            # An attacker in between may try to make us send the secret.
            raise LinkRefusedError(
                "wants the secret itself (PASS), which is not configured for this link", OLD_VERSION
            )
        if line.command != "SERVER":
            raise _too_early(line)
        nonce = read_nonce(line)
        check_name(link.peer, line)
        if nonce == link.nonce:
            raise LinkRefusedError("sends our own nonce back")
        link.challenge = LinkChallenge(self._own().name, link.name, link.nonce, nonce)
        link.stage = LinkStage.PROVING
        self._outbox.send(link, proof_line(link.challenge, link.peer.secret, Role.CALLER))

    def _on_proof(self, link: Link, line: Line) -> None:
        if line.command != "PROOF" or link.challenge is None:
            raise _too_early(line)
        if not link.challenge.is_proved_by(line.param(0), link.peer.secret, Role.CALLED):
            raise LinkRefusedError(f"has the wrong secret for '{link.name}'")
        link.stage = LinkStage.PROVED

    # Handshake of links that peers dialed.

    def offered(self, key: ConnectionKey, secret: str, server: Line, caller: Caller) -> None:
        """Handle SERVER from an incoming connection. `secret` is the PASS before it."""
        name = server.param(0)
        try:
            self._check_rate(name, caller)
            if server.param(1) == PLAIN:
                peer = check_plain_caller(self._own().name, self.peers, secret, server, caller)
                self._accept(key, peer, None)
            else:
                challenge = LinkChallenge(name, self._own().name, read_nonce(server), self._new_nonce())
                # Challenge unknown names as well, so that the reply does not reveal which names exist.
                self._pending_callers[key] = PendingCaller(key, challenge, caller, self._timer())
                self._say(key, server_line(self._own().name, challenge.called_nonce))
        except LinkRefusedError as refusal:
            self._reject_caller(key, name, caller, refusal)

    def on_caller_line(self, key: ConnectionKey, raw: bytes) -> None:
        """Handle the proof of an incoming connection; ignore connections that are not known."""
        pending = self._pending_callers.pop(key, None)
        if pending is None:
            return
        try:
            self._prove(pending, parse_line(raw.decode()))
        except LinkRefusedError as refusal:
            self._reject_caller(key, pending.name, pending.caller, refusal)
        except (MalformedLine, UnicodeDecodeError):
            self._reject_caller(key, pending.name, pending.caller, LinkRefusedError("sent a malformed line"))

    def _prove(self, pending: PendingCaller, line: Line) -> None:
        name, caller, challenge = pending.name, pending.caller, pending.challenge
        # Check again: many connections may have come at once before the first of them failed.
        self._check_rate(name, caller)
        if line.command != "PROOF":
            raise _too_early(line)
        known = self.peers.get(name)
        secrets = (known.secret, *known.other_secrets) if known is not None else (self._new_nonce(),)
        proved = proved_secret(challenge, line.param(0), secrets)
        peer = check_caller(self._own().name, self.peers, name, caller, is_proved=proved is not None)
        self._accept(pending.key, peer, proof_line(challenge, proved or peer.secret, Role.CALLED))

    def _accept(self, key: ConnectionKey, peer: Peer, proof: str | None) -> None:
        """Accept a peer that proved its identity. Without our own proof it used PASS, and gets PASS back."""
        if any(
            each.peer is peer and (each.role is Role.CALLED or each.is_up) for each in self._links.values()
        ):
            reply = f"Link refused: {peer.name} is linked already"
            raise LinkRefusedError(f"'{peer.name}' is linked already", reply)
        self._resolve_crossed_dials(peer)
        link, own = self._begin(key, peer, Role.CALLED, LinkStage.PROVED), self._own()
        lines = plain_server_lines(peer.secret, own.name, own.description) if proof is None else [proof]
        for line in lines:
            self._outbox.send(link, line)
        self._greet(link)

    def _resolve_crossed_dials(self, peer: Peer) -> None:
        """If two hosts dial each other at the same time, keep the link of the host that sorts first."""
        for link in list(self._links.values()):
            if link.peer is peer and link.role is Role.CALLER:
                if self._own().name < peer.name:
                    reply = f"Link refused: {peer.name} is being called"
                    raise LinkRefusedError(f"'{peer.name}' is being called already", reply)
                self.hang_up(link, "It called us")

    def _check_rate(self, name: str, caller: Caller) -> None:
        pinned = is_pinned(self.peers.get(name), caller)
        if self._failures.is_blocked(name, caller.address, is_pinned=pinned):
            raise LinkRefusedError("tries too often", TOO_OFTEN)

    def _reject_caller(
        self, key: ConnectionKey, name: str, caller: Caller, refusal: LinkRefusedError
    ) -> None:
        if refusal.is_guess:
            pinned = is_pinned(self.peers.get(name), caller)
            self._failures.add(name, caller.address, is_pinned=pinned)
        self._say(key, format_line("ERROR", refusal.reply, trailing=True))
        self._outbox.closings.append((key, str(refusal)))
        self._outbox.note(MeshNoteKind.REFUSED, name, f"{caller.address} {refusal}")

    def _say(self, key: ConnectionKey, line: str) -> None:
        self._outbox.lines.setdefault(key, []).append(line)

    # Coming up.

    def _greet(self, link: Link) -> None:
        own, at_ms = self._own(), int(self._clock() * 1000)
        self._outbox.send(link, link_line(own.generation, at_ms, link.peer.channels))

    def _go_up(self, link: Link, greeted: Greeting) -> None:
        if link.name in self.up:
            raise LinkRefusedError(f"'{link.name}' is linked already", "Link refused: linked already")
        if link.role is Role.CALLER:
            self._greet(link)
        link.stage = LinkStage.UP
        link.since = self._timer()
        link.scope = intersect_scopes(link.peer.channels, greeted.channels)
        self.up[link.name] = link
        self._dialing.linked(link.name)
        limit = "" if link.scope is None else f", limited to {format_scope(link.scope) or 'nothing'}"
        self._outbox.note(MeshNoteKind.LINKED, link.name, f"linked{limit}")
        skew_s = greeted.at_ms / 1000 - self._clock()
        if abs(skew_s) > self._settings.skew_s:
            self._outbox.note(
                MeshNoteKind.SKEWED, link.name, f"its clock differs from ours by {skew_s:+.1f} s"
            )
        self._on_up(link)

    # Closing.

    def closed(self, key: ConnectionKey, why: str) -> None:
        """Forget a connection that is closed."""
        self._pending_callers.pop(key, None)
        if (link := self._links.get(key)) is not None:
            self._forget(link, why, is_final=False)

    def refuse(self, link: Link, refusal: LinkRefusedError) -> None:
        """Refuse a link: note why, tell the peer and close."""
        self._outbox.note(MeshNoteKind.REFUSED, link.name, str(refusal))
        self.hang_up(link, refusal.reply)

    def hang_up(self, link: Link, why: str, *, is_final: bool = False) -> None:
        """Send ERROR with the reason, and close the link."""
        self._outbox.send(link, format_line("ERROR", why, trailing=True))
        self._outbox.closings.append((link.key, why))
        self._forget(link, why, is_final=is_final)

    def disconnect(self, name: str, why: str) -> bool:
        """End a link and stop redialing. Return whether there was a link."""
        self._dialing.stop(name)
        link = self.up.get(name)
        if link is not None:
            self.hang_up(link, why, is_final=True)
        return link is not None

    def _forget(self, link: Link, why: str, *, is_final: bool) -> None:
        was_up, link.stage = link.is_up, LinkStage.CLOSED
        del self._links[link.key]
        self._dialing.back_off(link.name)
        if was_up:
            del self.up[link.name]
            self._outbox.note(MeshNoteKind.UNLINKED, link.name, why)
            self._on_down(link, is_final)

    # Keeping alive.

    def tick(self) -> None:
        """Ping links, refuse late handshakes and dial hosts that are due."""
        now = self._timer()
        for link in list(self._links.values()):
            if link.is_up:
                self._keep_alive(link, now)
            elif now - link.since >= self._settings.handshake_s:
                self.refuse(link, LinkRefusedError("did not prove in time who it is"))
        for pending in [each for each in self._pending_callers.values() if self._is_late(each, now)]:
            del self._pending_callers[pending.key]
            refusal = LinkRefusedError("did not prove in time who it is", LATE)
            self._reject_caller(pending.key, pending.name, pending.caller, refusal)
        busy = {link.name for link in self._links.values()}
        self._outbox.dials += self._dialing.due(busy)

    def _is_late(self, pending: PendingCaller, now: float) -> bool:
        return now - pending.since >= self._settings.handshake_s

    def _keep_alive(self, link: Link, now: float) -> None:
        if link.ping_sent_at is not None:
            if now - max(link.ping_sent_at, link.heard_at) >= self._settings.ping_timeout_s:
                self.hang_up(link, SILENT, is_final=True)
        elif now - max(link.since, link.pinged_at) >= self._settings.ping_interval_s:
            link.ping_sent_at = link.pinged_at = now
            self._outbox.send(link, format_line("PING", self._own().name))

    def on_pong(self, link: Link) -> None:
        """Measure the lag of a link from its answer to PING."""
        link.has_answered = True
        if link.ping_sent_at is not None:
            link.lag_s, link.ping_sent_at = self._timer() - link.ping_sent_at, None


def _too_early(line: Line) -> LinkRefusedError:
    return LinkRefusedError(f"said '{line.command}' before it proved who it is")
