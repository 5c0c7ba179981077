"""Restore the sessions of the previous process, after a clean restart or a crash."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from culture.ircd.model.user import User
from culture.ircd.restart.snapshot import (
    drop_empty_channels,
    restore_account,
    restore_channel,
    restore_guest,
    restore_session,
)
from culture.ircd.session import Session
from culture.names import fold
from culture.net.connection import Connection
from culture.net.driver import Driver
from culture.net.listen.origin import origin_from
from culture.net.restart.session_file import SessionRecords, bytes_of, read_kept
from culture.net.restart.session_keeper import FRAMES, LINES, SessionKeeper, cookie_of
from culture.net.restart.skip_line import SkipLine
from culture.net.restart.tcp_position import read_position
from culture.net.sockets.socket_transport import SocketTransport
from culture.protocol.framing import CRLF
from culture.protocol.line import format_line
from culture.systemd.journal import fields
from culture.systemd.sockets import Passed

log = logging.getLogger(__name__)

# A frame of WebSocket that closes it with 1012, service restart (RFC 6455 section 5.5.1).
GOING_AWAY: Final = b"\x88\x02\x03\xf4"
CLIENTS: Final = (LINES, FRAMES)
LOST: Final = "Connection lost in a restart of the server"

Restored = TypeVar("Restored")


def split_off_clients(passed: Sequence[Passed]) -> tuple[list[Passed], list[Passed]]:
    """Split the passed sockets into those of clients and the others, which listen."""
    clients = [each for each in passed if each.name in CLIENTS]
    return clients, [each for each in passed if each.name not in CLIENTS]


def restore(driver: Driver, clients: Sequence[Passed]) -> None:
    """Resume all known clients; close sessions without a socket, and sockets without a session."""
    by_cookie = {cookie_of(each.socket): each for each in clients}
    kept = _restore(driver, driver.keeper, by_cookie) if driver.keeper is not None else SessionRecords()
    known = kept.of("session").keys() - _lost(kept, by_cookie)
    unknown = [each for key, each in by_cookie.items() if key not in known]
    for each in unknown:
        _turn_away(each, driver.ircd.name)
    if known or unknown:
        log.info(
            "restarted %s: %d connections continue, %d are gone, %d unknown ones are closed",
            "cleanly" if kept.in_order else "after a crash",
            *(len(known & by_cookie.keys()), len(known - by_cookie.keys()), len(unknown)),
            extra=fields("restored"),
        )


def _restore(driver: Driver, keeper: SessionKeeper, by_cookie: dict[str, Passed]) -> SessionRecords:
    kept = read_kept(keeper.path)
    if kept is None or kept.server != driver.ircd.name:
        return SessionRecords()
    keeper.stored |= by_cookie.keys()
    try:
        _Restoration(driver, kept).run(by_cookie)
    except Exception:
        # Remove the file, so that the next process does not fail on it too and closes all clients cleanly.
        keeper.end()
        raise
    return kept


class _Restoration:
    def __init__(self, driver: Driver, kept: SessionRecords) -> None:
        self._driver = driver
        self._ircd = driver.ircd
        self._kept = kept

    def run(self, by_cookie: dict[str, Passed]) -> None:
        state = self._ircd.state
        self._each("channel", lambda _, values: restore_channel(state, values))
        self._each("account", lambda account, values: restore_account(state, fold(account), values))
        sessions = self._each("session", lambda _, values: self._session(values))
        guests = self._each("guest", lambda _, values: restore_guest(self._ircd, values))
        self._restore_idle("spoke_at", {key: session.user for key, session in sessions.items()})
        self._restore_idle("guest_spoke_at", guests)
        drop_empty_channels(state)
        here = by_cookie.keys() - _lost(self._kept, by_cookie)
        connections = {}
        for key in [key for key in sessions if key in here]:
            try:
                connections[key] = self._connect(key, sessions[key], by_cookie[key])
            except Exception:
                log.exception("closing a connection that cannot be resumed")
                self._drop(key)
        for key in sessions.keys() - connections.keys():
            self._ircd.close(sessions[key], LOST)
        for session in sessions.values():
            if session.is_unidentified:
                # The answer of the authenticator was lost with the previous process.
                self._ircd.close(session, LOST)
        for key, (bottom, connection) in connections.items():
            try:
                self._feed(by_cookie[key], key, bottom, connection)
            except Exception:
                connection.give_up()
        self._driver.wake()

    def _each(self, kind: str, restore: Callable[[str, Any], Restored]) -> dict[str, Restored]:
        """Restore all records of a kind; drop and log those that fail."""
        restored = {}
        for key, values in [*self._kept.of(kind).items()]:
            try:
                restored[key] = restore(key, values)
            except Exception:
                log.exception("dropping a %s that cannot be restored", kind)
                self._kept.of(kind).pop(key)
        return restored

    def _session(self, values: Any) -> Session:
        before = set(self._ircd.sessions)
        try:
            return restore_session(self._ircd, values, in_order=self._kept.in_order)
        except Exception:
            for half_restored in self._ircd.sessions - before:
                self._ircd.close(half_restored, LOST)
            raise

    def _drop(self, key: str) -> None:
        """Forget a session whose socket cannot be used, so that the client is turned away."""
        self._kept.of("session").pop(key)

    def _restore_idle(self, kind: str, users: Mapping[str, User]) -> None:
        for key, spoke_at in self._kept.of(kind).items():
            if key in users and isinstance(spoke_at, int | float):
                users[key].spoke_at = spoke_at

    def _connect(self, key: str, session: Session, passed: Passed) -> tuple[asyncio.Protocol, Connection]:
        values = self._kept.of("session")[key]
        origin, connection = origin_from(values["origin"]), Connection(self._driver)
        if passed.name == FRAMES:
            # Optional dependency: only servers with a WebSocket listener need it.
            from culture.net.listen.websocket import WebSocket

            websocket = WebSocket(self._driver, lambda: connection, ())
            websocket.carry(connection)
            transport = self._driver.make_transport(passed.socket, websocket)
            connection.resume(websocket.restore(transport, is_binary=values["is_binary"]), origin, session)
            self._resume_transport(key, transport)
            return websocket, connection
        transport = self._driver.make_transport(passed.socket, connection)
        connection.resume(transport, origin, session)
        self._resume_transport(key, transport)
        return connection, connection

    def _resume_transport(self, key: str, transport: SocketTransport) -> None:
        transport.resume(*(bytes_of(self._kept.of(kind).get(key)) for kind in ("torn", "unsent")))

    def _feed(self, passed: Passed, key: str, bottom: asyncio.Protocol, connection: Connection) -> None:
        if waiting := self._kept.of("waiting").get(key):
            connection.data_received(bytes_of(waiting))
        if _is_in_doubt(self._kept, key, passed):
            SkipLine(connection).begin()
        elif half := self._kept.of("half").get(key):
            bottom.data_received(bytes_of(half[0]))


def _lost(kept: SessionRecords, by_cookie: dict[str, Passed]) -> set[str]:
    """Return the keys of connections that cannot be resumed: WebSockets at an unknown position in a frame."""
    frames = (key for key, each in by_cookie.items() if each.name == FRAMES)
    return {*kept.of("lost"), *(key for key in frames if _is_in_doubt(kept, key, by_cookie[key]))}


def _is_in_doubt(kept: SessionRecords, key: str, passed: Passed) -> bool:
    """Return whether the crashed process had read more than the partial line that it recorded."""
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
