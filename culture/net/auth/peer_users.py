"""Find the local Unix user at the other end of a TCP connection.

The kernel lists all TCP sockets with their owners in /proc/self/net/tcp and tcp6. A row in TIME_WAIT, or of a
socket that its process has closed, does not name the owner. Reading the tables takes about 2 ms on a busy
host, so a thread reads them once for all waiting connections.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from culture.net.listen.origin import IpAddress, parse_ip

log = logging.getLogger(__name__)

TABLES: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
# A read can miss a row while the kernel changes the table, so try again.
TRIES: Final = 3
_TIME_WAIT: Final = b"06"
_ESTABLISHED: Final = 1
_MAPPED: Final = bytes(10) + b"\xff\xff"


class Ends(NamedTuple):
    """The two endpoints of a connection, as this server sees them."""

    peer: tuple[IpAddress, int]
    here: tuple[IpAddress, int]


class PeerUser(NamedTuple):
    """The result of a lookup; `uid` is None for a connection from another machine."""

    uid: int | None = None
    # The connection is local but its owner was not found, perhaps because the process closed it already.
    is_hidden: bool = False


class _Lookup(NamedTuple):
    socket: socket.socket
    ends: Ends
    then: Callable[[PeerUser], None]


class PeerUsers:
    """Looks up the Unix users of local TCP connections, in batches."""

    def __init__(self, read: Callable[[Collection[Ends]], dict[Ends, int]] | None = None) -> None:
        self._read = read or read_tables
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="peers")
        self._waiting: list[_Lookup] = []
        # The lookups that the thread is working on.
        self._batch: list[_Lookup] = []

    def find(self, sock: socket.socket, then: Callable[[PeerUser], None]) -> None:
        """Call `then` with the result: at once for a remote connection, else after the tables were read."""
        try:
            ends = ends_of(sock)
        except OSError:
            then(PeerUser(is_hidden=True))
            return
        if not is_of_this_machine(ends.peer[0]):
            then(PeerUser())
            return
        self._waiting.append(_Lookup(sock, ends, then))
        self._begin()

    def close(self) -> None:
        """Stop all lookups and close the sockets that wait for one."""
        for wanted in [*self._waiting, *self._batch]:
            wanted.socket.close()
        self._waiting.clear()
        self._batch.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> None:
        if self._waiting and not self._batch:
            self._batch, self._waiting = self._waiting, []
            ends = [each.ends for each in self._batch]
            self._loop.run_in_executor(self._thread, self._read, ends).add_done_callback(self._end)

    def _end(self, done: asyncio.Future[dict[Ends, int]]) -> None:
        batch, self._batch = self._batch, []
        if done.cancelled():
            return
        found: dict[Ends, int] = {}
        try:
            found = done.result()
        except OSError as error:
            log.warning("cannot look up the Unix users of local connections: %s", error)
        for sock, ends, then in batch:
            if ends in found:
                then(PeerUser(found[ends]))
            else:
                then(PeerUser(is_hidden=ends.peer[0].is_loopback or not _is_established(sock)))
        self._begin()


def ends_of(sock: socket.socket) -> Ends:
    """Return the endpoints of a connected socket."""
    peer, here = sock.getpeername(), sock.getsockname()
    return Ends((parse_ip(peer[0]), peer[1]), (parse_ip(here[0]), here[1]))


def is_of_this_machine(address: IpAddress) -> bool:
    """Return whether an address belongs to this machine, by trying to bind to it."""
    if address.is_loopback:
        return True
    family = socket.AF_INET6 if isinstance(address, ipaddress.IPv6Address) else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.bind((str(address), 0))
        return True
    # Binding to a link-local address would need the interface name too.
    return address.is_link_local


def read_tables(wanted: Collection[Ends], tables: Collection[Path] = TABLES) -> dict[Ends, int]:
    """Return the uids of the peers that the tables list. Raises OSError if there are no tables."""
    found: dict[Ends, int] = {}
    for _ in range(TRIES):
        for data in _contents(tables):
            rows = _rows(data)
            found |= {ends: uid for ends in wanted if (uid := _find(rows, ends)) is not None}
        if len(found) == len(set(wanted)):
            break
    return found


def _contents(tables: Collection[Path]) -> Iterator[bytes]:
    for table in tables:
        try:
            yield table.read_bytes()
        except FileNotFoundError:
            # A kernel without IPv6 has no tcp6 table.
            if table == TABLES[0]:
                raise


def _rows(data: bytes) -> dict[tuple[bytes, bytes], bytes]:
    """Return the uids by local and remote address, from the rows that name an owner."""
    fields = (line.split(None, 10) for line in data.splitlines()[1:])
    return {(row[1], row[2]): row[7] for row in fields if row[3] != _TIME_WAIT and row[9] != b"0"}


def _find(rows: Mapping[tuple[bytes, bytes], bytes], ends: Ends) -> int | None:
    """Return the uid in the row of the other end, whose local address is our peer."""
    for peer, here in zip(_notations(*ends.peer), _notations(*ends.here), strict=False):
        if (uid := rows.get((peer, here))) is not None:
            return int(uid)
    return None


def _notations(address: IpAddress, port: int) -> list[bytes]:
    """Return an address as the tables write it: native-endian words, IPv4 also as mapped IPv6."""
    forms = [address.packed]
    if isinstance(address, ipaddress.IPv4Address):
        forms.append(_MAPPED + address.packed)
    return [b"%s:%04X" % (_words(packed), port) for packed in forms]


def _words(packed: bytes) -> bytes:
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return b"".join(b"%08X" % int.from_bytes(word, sys.byteorder) for word in words)


def _is_established(sock: socket.socket) -> bool:
    """Return whether the connection is established; its source is then translated by a router (NAT)."""
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED
    except OSError:
        return False
