"""Collect listening sockets: those that systemd passed, and those that the configuration adds."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from culture.config.address import (
    CARRIERS,
    PLAIN,
    Address,
    Carrier,
    TcpAddress,
    UnixAddress,
    parse_address,
    parse_endpoint,
)
from culture.errors import NotAllowedError, UnavailableError
from culture.systemd.sockets import Passed

BACKLOG = 1024
FOR_THE_GROUP = 0o660
FOR_THE_OWNER = 0o600


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket and what carries IRC on it."""

    socket: socket.socket
    carrier: Carrier = PLAIN


@contextlib.contextmanager
def listening_for_irc(endpoints: Sequence[str], passed: list[Passed]) -> Iterator[list[Listener]]:
    """Yield the IRC listeners; a passed socket's name (irc, irc-tls, irc-ws, irc-wss) sets its carrier."""
    adopted = [Listener(each.socket, _CARRIER_BY_NAME.get(each.name, PLAIN)) for each in passed]
    have = {address_of(each.socket) for each in passed}
    wanted = map(parse_endpoint, endpoints)
    missing = [each for each in wanted if have.isdisjoint(_resolved_addresses(each.address))]
    with contextlib.ExitStack() as opened:
        yield adopted + [
            Listener(opened.enter_context(_temporary_listener(each.address, FOR_THE_GROUP)), each.carrier)
            for each in missing
        ]


_CARRIER_BY_NAME = {f"irc-{name}": carrier for name, carrier in CARRIERS.items()}


@contextlib.contextmanager
def listening(
    addresses: Sequence[str], passed: list[socket.socket], *, unix_mode: int = FOR_THE_GROUP
) -> Iterator[list[socket.socket]]:
    """Yield the passed sockets and those of missing configured addresses, which are removed at exit."""
    have = {address_of(each) for each in passed}
    missing = [
        address for text in addresses if have.isdisjoint(_resolved_addresses(address := parse_address(text)))
    ]
    with contextlib.ExitStack() as opened:
        yield passed + [opened.enter_context(_temporary_listener(address, unix_mode)) for address in missing]


@contextlib.contextmanager
def _temporary_listener(address: Address, unix_mode: int) -> Iterator[socket.socket]:
    listener = open_listener(address, unix_mode=unix_mode)
    try:
        with listener:
            yield listener
    finally:
        if isinstance(address, UnixAddress):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address.path)


def address_of(listener: socket.socket) -> Address:
    """Return the address that a socket listens on."""
    name = listener.getsockname()
    return UnixAddress(str(name)) if listener.family == socket.AF_UNIX else TcpAddress(name[0], name[1])


def open_listener(address: Address, *, unix_mode: int = FOR_THE_GROUP) -> socket.socket:
    """Open a listening socket. Raises NotAllowedError or UnavailableError."""
    try:
        match address:
            case UnixAddress(path):
                return _open_unix(path, unix_mode)
            case TcpAddress():
                return _open_tcp(address)
    except PermissionError:
        raise NotAllowedError(f"not allowed to listen on {address}") from None
    except OSError as error:
        hint = f"ss -tlnp 'sport = :{address.port}'" if isinstance(address, TcpAddress) else None
        raise UnavailableError(f"cannot listen on {address}: {error.strerror}", hint=hint) from None


def _resolve(address: TcpAddress) -> list[tuple[socket.AddressFamily, Any]]:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return [(family, name) for family, _, _, _, name in found]


def _resolved_addresses(address: Address) -> set[Address]:
    """Return the addresses that `localhost:6667` resolves to; an unresolvable address stands for itself."""
    if isinstance(address, UnixAddress):
        return {address}
    try:
        return {TcpAddress(name[0], name[1]) for _, name in _resolve(address)}
    except OSError:
        return {address}


def _open_tcp(address: TcpAddress) -> socket.socket:
    family, name = _resolve(address)[0]
    # asyncio sends without delay on accepted sockets only if their listener names its protocol.
    with _closed_on_failure(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(name)
        listener.listen(BACKLOG)
    return listener


def _open_unix(path: str, mode: int) -> socket.socket:
    _remove_dead_socket(path)
    with _closed_on_failure(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        # Set the mode with umask, not chmod, so that others can never connect in between.
        mask = os.umask(0o777 & ~mode)
        try:
            listener.bind(path)
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    return listener


@contextlib.contextmanager
def _closed_on_failure(listener: socket.socket) -> Iterator[socket.socket]:
    listener.setblocking(False)
    try:
        yield listener
    except OSError:
        listener.close()
        raise


def _remove_dead_socket(path: str) -> None:
    """Remove a socket file that a crash left behind. A live socket or another file stays."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(path) != 0:
                os.unlink(path)
