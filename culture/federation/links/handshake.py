"""The lines of the link handshake, and the checks on them.

The side that connected has to prove the secret first. Until then a refusal tells it neither which hosts are
known here nor what was wrong; only the journal does.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from culture.federation.feeds.watermarks import Scope, format_scope, parse_scope
from culture.federation.links.challenge import VERSION, LinkChallenge, Role, is_nonce, is_same
from culture.federation.ports import Caller, Peer
from culture.names import fold
from culture.protocol.line import Line, format_line

# The version in SERVER after a secret sent in plain text by PASS, the only way of versions 1 and 2.
PLAIN: Final = "1"
UNPROVED: Final = "Link refused: this host does not know you by this name and secret"
TOO_OFTEN: Final = "Link refused: too many attempts, wait a minute"
OLD_VERSION: Final = (
    f"Link refused: this host speaks version {VERSION} of links and you speak version 2 or older; "
    "PASS is taken only where it is configured"
)
# How version 2 refuses a host that it does not know or that sends no PASS.
_REFUSED_BY_OLD: Final = "Link refused: this is not a host that is known here, or not its secret"
_LONGEST_NUMBER: Final = 20


class LinkRefusedError(Exception):
    """A link was refused. `reply` goes to the other side, the message to the journal."""

    def __init__(self, why: str, reply: str = UNPROVED) -> None:
        super().__init__(why)
        self.reply = reply

    @property
    def is_guess(self) -> bool:
        """Return whether the attempt counts towards the limit on guesses."""
        return self.reply in (UNPROVED, OLD_VERSION)


@dataclass(frozen=True, slots=True)
class Greeting:
    """The content of a LINK line, which a host sends after it proved its identity."""

    generation: int
    at_ms: int
    channels: Scope


def server_line(name: str, nonce: str) -> str:
    """Return the SERVER line with our nonce."""
    return format_line("SERVER", name, VERSION, nonce)


def plain_server_lines(secret: str, name: str, description: str) -> list[str]:
    """Return PASS and SERVER for a link with a plain-text secret."""
    return [
        format_line("PASS", secret, trailing=True),
        format_line("SERVER", name, PLAIN, description, trailing=True),
    ]


def proof_line(challenge: LinkChallenge, secret: str, role: Role) -> str:
    """Return the PROOF line of the side with this role."""
    return format_line("PROOF", challenge.proof(secret, role))


def link_line(generation: int, at_ms: int, channels: Scope) -> str:
    """Return the LINK line with our generation, time and scope."""
    return format_line("LINK", VERSION, str(generation), str(at_ms), format_scope(channels))


# Checks. All raise LinkRefusedError.


def read_nonce(server: Line) -> str:
    """Return the nonce of a SERVER line of our version."""
    check_version(server.param(1))
    if not is_nonce(server.param(2)):
        raise LinkRefusedError("SERVER has no nonce", "Link refused: SERVER is malformed")
    return server.param(2)


def read_greeting(line: Line) -> Greeting:
    """Parse a LINK line."""
    if line.command != "LINK":
        raise LinkRefusedError(f"said '{line.command}' before LINK", f"Link refused: expected LINK {VERSION}")
    check_version(line.param(0))
    numbers = (line.param(1), line.param(2))
    if not all(each.isdecimal() and len(each) <= _LONGEST_NUMBER for each in numbers):
        raise LinkRefusedError("LINK is malformed", "Link refused: LINK is malformed")
    return Greeting(int(numbers[0]), int(numbers[1]), parse_scope(line.param(3)))


def check_version(theirs: str) -> None:
    """Check that the other side speaks our version."""
    if theirs != VERSION:
        shown = theirs[:_LONGEST_NUMBER]
        raise LinkRefusedError(
            f"speaks version {shown} of links, and we speak version {VERSION}",
            f"Link refused: this host speaks version {VERSION} of links and you speak version {shown}",
        )


def proved_secret(challenge: LinkChallenge, proof: str, secrets: Sequence[str]) -> str | None:
    """Return the secret that a caller proved, or None."""
    proved = [secret for secret in secrets if challenge.is_proved_by(proof, secret, Role.CALLER)]
    return proved[0] if proved else None


def check_caller(
    own_name: str, peers: Mapping[str, Peer], name: str, caller: Caller, *, is_proved: bool
) -> Peer:
    """Return the peer that an incoming connection is, if it may connect."""
    if fold(name) == fold(own_name):
        raise LinkRefusedError(f"calls itself '{name}', which is our own name")
    peer = peers.get(name)
    if peer is None:
        raise LinkRefusedError(f"calls itself '{name}', which is not among our links")
    if not is_proved:
        raise LinkRefusedError(f"has the wrong secret for '{name}'")
    if peer.accept_from and not any(_is_from(caller.address, each) for each in peer.accept_from):
        raise LinkRefusedError(f"calls itself '{name}', which does not come from {caller.address}")
    if peer.accept_fingerprint and not is_pinned(peer, caller):
        raise LinkRefusedError(f"calls itself '{name}', which has another certificate")
    return peer


def check_plain_caller(
    own_name: str, peers: Mapping[str, Peer], secret: str, server: Line, caller: Caller
) -> Peer:
    """Return the peer that sent its secret by PASS. Every refusal says that its version is too old."""
    name = server.param(0)
    peer = peers.get(name)
    # Compare even for an unknown name, so that the time taken does not reveal which names exist.
    is_proved = is_same(secret, peer.secret if peer is not None else own_name)
    try:
        if peer is not None and not peer.plain_secret:
            raise LinkRefusedError(
                f"speaks version 2 of links or older, and we speak version {VERSION}; "
                f"'{name}' is not configured for PASS ('plain_secret')"
            )
        found = check_caller(own_name, peers, name, caller, is_proved=is_proved)
        if not is_loopback(caller.address) and not (found.accept_fingerprint and is_pinned(found, caller)):
            raise LinkRefusedError(
                f"sends PASS for '{name}' neither on loopback nor with a pinned certificate"
            )
    except LinkRefusedError as refusal:
        raise LinkRefusedError(str(refusal), OLD_VERSION) from None
    return found


def check_plain_called(peer: Peer, secret: str, server: Line) -> None:
    """Check the reply of a host to which we sent the secret by PASS."""
    if not is_same(secret, peer.secret):
        raise LinkRefusedError(f"has the wrong secret for '{peer.name}'")
    check_name(peer, server)
    if server.param(1) != PLAIN:
        check_version(server.param(1))
        raise LinkRefusedError("answers PASS with a challenge")


def check_name(peer: Peer, server: Line) -> None:
    """Check that the host has the name that we dialed."""
    if server.param(0) != peer.name:
        raise LinkRefusedError(f"should be '{peer.name}', and calls itself '{server.param(0)}'")


def refused_by(line: Line) -> LinkRefusedError:
    """Return the refusal to write to the journal for an ERROR from the other side."""
    if line.param(0) == _REFUSED_BY_OLD:
        return LinkRefusedError(
            f"refused us as a host does that speaks version 2 of links or older; we speak version {VERSION}"
        )
    return LinkRefusedError(f"refused us: {line.param(0)}")


def is_pinned(peer: Peer | None, caller: Caller) -> bool:
    """Return whether a connection presented the certificate that is configured for the host."""
    fingerprint = peer.accept_fingerprint if peer is not None else ""
    return bool(fingerprint) and is_same(caller.fingerprint, fingerprint)


def is_loopback(address: str) -> bool:
    """Return whether an address is local to this machine."""
    return address == "unix" or ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _is_from(address: str, network: str) -> bool:
    if network == "unix" or address == "unix":
        return network == address
    return ipaddress.ip_address(address.partition("%")[0]) in ipaddress.ip_network(network)
