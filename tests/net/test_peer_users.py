"""Which user of this machine is at the other end of a TCP connection: /proc/net/tcp (proc(5))."""

import asyncio
import contextlib
import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.requirement import unable
from support.unix_users import AGENT_UID, opened_as

from culture.net.auth.peer_users import (
    Ends,
    PeerUser,
    PeerUsers,
    ends_of,
    is_of_this_machine,
    read_tables,
)

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


@contextlib.contextmanager
def accepted(host: str, family: int, target: str, uid: int) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection of a user to a listener here: both ends."""
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError as error:
            unable(f"cannot listen on {host}: {error.strerror}")
        listener.listen()
        kind = socket.AF_INET6 if ":" in target else socket.AF_INET
        with opened_as(uid, (target, listener.getsockname()[1]), kind) as there:
            here, _ = listener.accept()
            with here:
                yield here, there


@pytest.mark.parametrize(
    ("host", "family", "target"),
    [
        ("127.0.0.1", socket.AF_INET, "127.0.0.1"),
        ("::1", socket.AF_INET6, "::1"),
        # An IPv6 socket that speaks IPv4 stands in the other list.
        ("127.0.0.1", socket.AF_INET, "::ffff:127.0.0.1"),
        ("::", socket.AF_INET6, "127.0.0.1"),
        ("::", socket.AF_INET6, "::ffff:127.0.0.1"),
    ],
)
def test_the_kernel_says_whose_connection_it_is(host: str, family: int, target: str):
    with accepted(host, family, target, AGENT_UID) as (here, _):
        ends = ends_of(here)
        assert read_tables([ends]) == {ends: AGENT_UID}


def row(state: str, uid: int, inode: int) -> str:
    queues = "00000000:00000000 00:00000000 00000000"
    return f"   0: 0100007F:C350 0100007F:1A0B {state} {queues} {uid:5} 0 {inode} 1 0 20\n"


@pytest.mark.parametrize(
    ("rows", "uid"),
    [
        ([row("01", 1000, 77)], 1000),
        # Of a connection that is over the kernel says user 0, whoever it was.
        ([row("06", 0, 0)], None),
        ([row("06", 0, 0), row("01", 1000, 77)], 1000),
        # Its process has closed it, and the kernel forgot who that was.
        ([row("05", 0, 0)], None),
        # Half closed: it still reads.
        ([row("05", 1000, 77)], 1000),
        ([], None),
    ],
)
def test_rows_that_say_nothing_are_left_out(tmp_path: Path, rows: list[str], uid: int | None):
    table = tmp_path / "tcp"
    table.write_text(HEADER + "".join(rows))
    here = ipaddress.ip_address("127.0.0.1")
    ends = Ends((here, 0xC350), (here, 0x1A0B))
    assert read_tables([ends], [table]) == ({ends: uid} if uid is not None else {})


async def find(sock: socket.socket) -> PeerUser:
    peers, answer = PeerUsers(), asyncio.get_running_loop().create_future()
    peers.find(sock, answer.set_result)
    found: PeerUser = await answer
    peers.close()
    return found


async def test_who_closed_the_connection_already_is_hidden():
    with accepted("127.0.0.1", socket.AF_INET, "127.0.0.1", AGENT_UID) as (here, there):
        assert await find(here) == PeerUser(AGENT_UID)
        there.shutdown(socket.SHUT_WR)
        assert await find(here) == PeerUser(AGENT_UID)
        there.close()
        assert await find(here) == PeerUser(None, is_hidden=True)


async def test_who_reset_the_connection_is_hidden():
    with accepted("127.0.0.1", socket.AF_INET, "127.0.0.1", AGENT_UID) as (here, there):
        there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        there.close()
        assert (await find(here)).is_hidden


async def test_all_that_wait_are_looked_up_at_once():
    reads = 0

    def read(wanted: object) -> dict[Ends, int]:
        nonlocal reads
        reads += 1
        return read_tables(list(wanted))  # type: ignore[call-overload]

    peers, found, everybody = PeerUsers(read), [], asyncio.Event()

    def note(each: PeerUser) -> None:
        found.append(each)
        if len(found) == 20:
            everybody.set()

    with contextlib.ExitStack() as open_:
        for _ in range(20):
            here, _ = open_.enter_context(accepted("127.0.0.1", socket.AF_INET, "127.0.0.1", os.getuid()))
            peers.find(here, note)
        async with asyncio.timeout(10):
            await everybody.wait()
    peers.close()
    assert found == [PeerUser(os.getuid())] * 20
    assert reads == 2


def test_an_address_is_of_this_machine_or_of_another():
    assert is_of_this_machine(ipaddress.ip_address("127.0.0.9"))
    assert is_of_this_machine(ipaddress.ip_address("::1"))
    assert not is_of_this_machine(ipaddress.ip_address("192.0.2.1"))
    assert not is_of_this_machine(ipaddress.ip_address("2001:db8::1"))
