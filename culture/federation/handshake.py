"""The handshake of a link: who it is with, proved both ways before anything else is said.

As long as the other side did not prove who it is, what it is told of a refusal says neither which hosts are
known here nor which part was wrong. The journal says all of it.
"""

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from culture.federation.holding import Scope, format_scope, parse_scope
from culture.federation.ports import Caller, Peer
from culture.names import fold
from culture.protocol.line import Line, format_line

FORM: Final = "1"
"""Of the lines up to LINK."""
VERSION: Final = "2"
"""Of all that follows, which LINK says."""
UNPROVED: Final = "Link refused: this is not a host that is known here, or not its secret"


class LinkRefusedError(Exception):
    """The link is not to be. `told` is for the other side, the message for the journal."""

    def __init__(self, why: str, told: str = UNPROVED) -> None:
        super().__init__(why)
        self.told = told


@dataclass(frozen=True, slots=True)
class Greeting:
    """The LINK line: what a host that proved who it is says of itself."""

    generation: int
    at_ms: int
    channels: Scope


def introduction(secret: str, name: str, description: str) -> list[str]:
    return [
        format_line("PASS", secret, trailing=True),
        format_line("SERVER", name, FORM, description, trailing=True),
    ]


def greeting(generation: int, at_ms: int, channels: Scope) -> str:
    return format_line("LINK", VERSION, str(generation), str(at_ms), format_scope(channels))


def read_greeting(line: Line) -> Greeting:
    if line.command != "LINK":
        raise LinkRefusedError(f"said '{line.command}' before LINK", f"Link refused: expected LINK {VERSION}")
    _check_version(line.param(0), VERSION)
    try:
        return Greeting(int(line.param(1)), int(line.param(2)), parse_scope(line.param(3)))
    except ValueError:
        raise LinkRefusedError("LINK is malformed", "Link refused: LINK is malformed") from None


def check_caller(
    own_name: str,
    peers: Mapping[str, Peer],
    linked: Collection[str],
    secret: str,
    server: Line,
    caller: Caller,
) -> Peer:
    """Who a connection that came to us is. Raises LinkRefusedError."""
    name = server.param(0)
    if fold(name) == fold(own_name):
        raise LinkRefusedError(f"calls itself '{name}', which is our own name")
    peer = peers.get(name)
    # Who guesses names learns nothing by how long it takes.
    is_proved = _same(secret, peer.secret if peer is not None else own_name)
    if peer is None:
        raise LinkRefusedError(f"calls itself '{name}', which is not among our links")
    if not is_proved:
        raise LinkRefusedError(f"has the wrong secret for '{name}'")
    if peer.accept_from and not any(_is_from(caller.address, each) for each in peer.accept_from):
        raise LinkRefusedError(f"calls itself '{name}', which does not come from {caller.address}")
    if peer.accept_fingerprint and not _same(caller.fingerprint, peer.accept_fingerprint):
        raise LinkRefusedError(f"calls itself '{name}', which has another certificate")
    _check_version(server.param(1), FORM)
    if name in linked:
        raise LinkRefusedError(f"'{name}' is linked already", f"Link refused: {name} is linked already")
    return peer


def check_called(peer: Peer, secret: str, server: Line) -> None:
    """Whether the host that we connected to is the one it should be. Raises LinkRefusedError."""
    if not _same(secret, peer.secret):
        raise LinkRefusedError(f"has the wrong secret for '{peer.name}'")
    if server.param(0) != peer.name:
        raise LinkRefusedError(f"should be '{peer.name}', and calls itself '{server.param(0)}'")
    _check_version(server.param(1), FORM)


def _check_version(theirs: str, ours: str) -> None:
    if theirs != ours:
        raise LinkRefusedError(
            f"speaks version {theirs} of links, and we speak {ours}",
            f"Link refused: version {ours} is spoken here, not {theirs}",
        )


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _is_from(address: str, network: str) -> bool:
    if network == "unix" or address == "unix":
        return network == address
    return ipaddress.ip_address(address.partition("%")[0]) in ipaddress.ip_network(network)
