"""Going on where another process stopped, in good order or not."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Mapping, Sequence
from typing import Final

from culture.ircd.session import Session
from culture.ircd.snapshot import (
    drop_empty_channels,
    restore_account,
    restore_channel,
    restore_guest,
    restore_session,
)
from culture.ircd.user import User
from culture.names import fold
from culture.net.connection import Connection
from culture.net.driver import Driver
from culture.net.keeping import FRAMES, LINES, Keeper, cookie_of
from culture.net.kept import Kept, bytes_of, read_kept
from culture.net.origin import origin_from
from culture.net.position import read_position
from culture.net.skipping import SkipLine
from culture.net.wire import Wire
from culture.protocol.framing import CRLF
from culture.protocol.line import format_line
from culture.systemd.journal import fields
from culture.systemd.sockets import Passed

log = logging.getLogger(__name__)

GOING_AWAY: Final = b"\x88\x02\x03\xf4"
"""A frame of WebSocket that closes it with 1012, service restart (RFC 6455 section 5.5.1)."""
CLIENTS: Final = (LINES, FRAMES)
LOST: Final = "Connection lost in a restart of the server"


def split_off_clients(passed: Sequence[Passed]) -> tuple[list[Passed], list[Passed]]:
    """The sockets of clients among those that were passed, and the others, which listen."""
    clients = [each for each in passed if each.name in CLIENTS]
    return clients, [each for each in passed if each.name not in CLIENTS]


def restore(driver: Driver, clients: Sequence[Passed]) -> None:
    """Who is here again notices nothing. Who is gone, or of whom nothing is known, is let go."""
    by_cookie = {cookie_of(each.socket): each for each in clients}
    kept = _restore(driver, driver.keeper, by_cookie) if driver.keeper is not None else Kept()
    known = kept.of("session").keys() - _lost(kept, by_cookie)
    unknown = [each for key, each in by_cookie.items() if key not in known]
    for each in unknown:
        _turn_away(each, driver.ircd.name)
    if known or unknown:
        log.info(
            "restarted %s: %d connections go on, %d are gone, %d are closed since nothing is known of them",
            "in good order" if kept.in_order else "after a crash",
            *(len(known & by_cookie.keys()), len(known - by_cookie.keys()), len(unknown)),
            extra=fields("restored"),
        )


def _restore(driver: Driver, keeper: Keeper, by_cookie: dict[str, Passed]) -> Kept:
    kept = read_kept(keeper.path)
    if kept is None or kept.server != driver.ircd.name:
        return Kept()
    keeper.stored |= by_cookie.keys()
    try:
        _Restoring(driver, kept).run(by_cookie)
    except Exception:
        # The next process finds nothing that it could stumble over as well, and closes all of them cleanly.
        keeper.end()
        raise
    return kept


class _Restoring:
    def __init__(self, driver: Driver, kept: Kept) -> None:
        self._driver = driver
        self._ircd = driver.ircd
        self._kept = kept

    def run(self, by_cookie: dict[str, Passed]) -> None:
        state = self._ircd.state
        for values in self._kept.of("channel").values():
            restore_channel(state, values)
        for account, values in self._kept.of("account").items():
            restore_account(state, fold(account), values)
        in_order = self._kept.in_order
        sessions = {
            key: restore_session(self._ircd, values, in_order=in_order)
            for key, values in self._kept.of("session").items()
        }
        guests = {key: restore_guest(self._ircd, values) for key, values in self._kept.of("guest").items()}
        self._restore_idle("spoke_at", {key: session.user for key, session in sessions.items()})
        self._restore_idle("guest_spoke_at", guests)
        drop_empty_channels(state)
        here = by_cookie.keys() - _lost(self._kept, by_cookie)
        connections = {
            key: self._connect(key, session, by_cookie[key])
            for key, session in sessions.items()
            if key in here
        }
        for key in sessions.keys() - here:
            self._ircd.close(sessions[key], LOST)
        for key, (bottom, connection) in connections.items():
            self._feed(by_cookie[key], key, bottom, connection)
        self._driver.wake()

    def _restore_idle(self, kind: str, users: Mapping[str, User]) -> None:
        for key, spoke_at in self._kept.of(kind).items():
            if key in users:
                users[key].spoke_at = spoke_at

    def _connect(self, key: str, session: Session, passed: Passed) -> tuple[asyncio.Protocol, Connection]:
        values = self._kept.of("session")[key]
        origin, connection = origin_from(values["origin"]), Connection(self._driver)
        if passed.name == FRAMES:
            # An extra: only servers with such a listener need it.
            from culture.net.websocket import WebSocket

            websocket = WebSocket(self._driver, lambda: connection, ())
            websocket.carry(connection)
            wire = self._driver.wire(passed.socket, websocket)
            connection.go_on(websocket.go_on(wire, is_binary=values["is_binary"]), origin, session)
            self._go_on(key, wire)
            return websocket, connection
        wire = self._driver.wire(passed.socket, connection)
        connection.go_on(wire, origin, session)
        self._go_on(key, wire)
        return connection, connection

    def _go_on(self, key: str, wire: Wire) -> None:
        wire.go_on(*(bytes_of(self._kept.of(kind).get(key)) for kind in ("torn", "unsent")))

    def _feed(self, passed: Passed, key: str, bottom: asyncio.Protocol, connection: Connection) -> None:
        if waiting := self._kept.of("waiting").get(key):
            connection.data_received(bytes_of(waiting))
        if _is_in_doubt(self._kept, key, passed):
            SkipLine(connection).begin()
        elif half := self._kept.of("half").get(key):
            bottom.data_received(bytes_of(half[0]))


def _lost(kept: Kept, by_cookie: dict[str, Passed]) -> set[str]:
    """With whom nobody can go on: a WebSocket in the middle of who knows what."""
    frames = (key for key, each in by_cookie.items() if each.name == FRAMES)
    return {*kept.of("lost"), *(key for key in frames if _is_in_doubt(kept, key, by_cookie[key]))}


def _is_in_doubt(kept: Kept, key: str, passed: Passed) -> bool:
    """Whether more was read, and died with the process, than the half that it wrote down."""
    half = kept.of("half").get(key)
    if half is None or kept.in_order:
        return False
    _, position = half
    return position is None or position != read_position(passed.socket)


def _turn_away(client: Passed, server: str) -> None:
    goodbye = format_line("ERROR", f"Closing Link: {server} ({LOST})", trailing=True).encode() + CRLF
    with client.socket as sock, contextlib.suppress(OSError):
        sock.send(goodbye if client.name == LINES else GOING_AWAY)
        sock.shutdown(socket.SHUT_RDWR)
