"""Keep sessions over a restart: systemd's fd store keeps the sockets, and a file keeps their state.

A plain message writes nothing. Any other change is written before clients see it (write-ahead), so that the
process that recovers from a crash never contradicts what clients saw.
"""

import asyncio
import itertools
import logging
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.config import paths
from culture.ircd.restart.snapshot import account_values, channel_values, guest_values, session_values
from culture.ircd.server import Ircd
from culture.ircd.session import CLOSED, Session
from culture.names import Folded
from culture.net.connection import Connection
from culture.net.listen.origin import origin_values
from culture.net.listen.websocket_frames import partial_frame_end
from culture.net.restart.session_file import SessionFile, text_of
from culture.net.restart.tcp_position import read_position
from culture.net.sockets.socket_transport import SocketTransport
from culture.systemd.fdstore import FdStore

log = logging.getLogger(__name__)

FILE: Final = "sessions"
# Names of stored sockets, for plain lines and for WebSocket frames. systemd returns all names in one
# environment variable, which has no room for long ones (execve(2), MAX_ARG_STRLEN).
LINES: Final = "c"
FRAMES: Final = "w"
# Pause between messages to systemd, so that sockets are batched: a message costs it more than a socket.
PAUSE_S: Final = 0.02
LEAVING_S: Final = 2.0
# How often idle times are written. After a crash they are off by at most this.
SPOKE_EVERY_S: Final = 60.0
_SO_COOKIE: Final = 57  # socket(7); Python does not name it
_COOKIE: Final = struct.Struct("Q")


def cookie_of(sock: socket.socket) -> str:
    """Return the kernel's unique id of a socket, which is the same in every process that holds it."""
    (cookie,) = _COOKIE.unpack(sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, _COOKIE.size))
    return str(cookie)


def open_keeper(ircd: Ircd, env: Mapping[str, str]) -> "SessionKeeper | None":
    """Return a keeper, or None if systemd offers no fd store or no runtime directory."""
    store, directory = FdStore(env), paths.runtime_dir(env)
    return SessionKeeper(ircd, store, directory) if store.room and directory is not None else None


class SessionKeeper:
    """Stores the sockets in systemd's fd store and the session state in a file."""

    def __init__(self, ircd: Ircd, store: FdStore, directory: Path) -> None:
        self.path = directory / FILE
        # Cookies of the sockets that the fd store has from an earlier process.
        self.stored: set[str] = set()
        self._ircd = ircd
        self._changes = ircd.state.dirty
        self._changes.is_wanted = True
        self._store = store
        self._file = SessionFile(self.path, ircd.name)
        self._kept: dict[Session, KeptConnection] = {}
        # Record keys of all sessions, even unkept ones: after a crash the others see their QUIT.
        self._keys: dict[Session, str] = {}
        self._unkept = itertools.count()
        # Whether the file is complete.
        self._is_whole = False
        # Writing failed; the next tick tries again.
        self._is_failing = False
        self._is_failure_told = False
        self._is_pausing = False
        self._spoke_put_at = 0.0

    def opened(self, connection: Connection) -> None:
        """Keep a new connection if its transport and the fd store allow it."""
        transport: SocketTransport | None = connection.transport.get_extra_info("socket_transport")
        if transport is not None and len(self._kept) < self._store.room:
            kept = self._kept[connection.session] = KeptConnection(self, connection, transport)
            if kept.key not in self.stored:
                self._store.put(FRAMES if kept.websocket is not None else LINES, kept.socket)
            self._keys[connection.session] = kept.key
        else:
            self._keys[connection.session] = f"unkept {next(self._unkept)}"
        self._changes.touch(connection.session)

    def released(self, connection: Connection) -> None:
        """Stop keeping a connection that turned out to be a link, because peers reconnect."""
        if (kept := self._kept.get(connection.session)) is not None:
            kept.release()
        self._forget(connection.session)

    def keeps(self, session: Session) -> bool:
        """Return whether the next process can resume this session."""
        return session in self._kept

    def write_down(self) -> None:
        """Write all changes since the last call, before they are delivered."""
        if not self._changes and not self._file.is_too_large:
            return
        if not self._is_whole or self._file.is_too_large:
            self._replace()
        else:
            self._put_changes()
            self._append()
        self._changes.clear()
        self._hand_over()

    def put_at_once(self, key: str, values: Mapping[str, Any]) -> None:
        """Write records, given by kind, without waiting for the next flush."""
        if self._is_whole:
            for kind, value in values.items():
                self._file.put(kind, key, value)
            self._append()

    def tick(self) -> None:
        """Retry a failed write, and write idle times when due."""
        if not self._is_whole:
            self._is_failing = False
            self._replace()
        elif self._ircd.clock() - self._spoke_put_at >= SPOKE_EVERY_S:
            self._put_spoke_at(self._spoke_put_at)
            self._append()

    def leave(self) -> bool:
        """Write the complete state for the next process, and return whether that succeeded."""
        self._is_failing = False
        self._replace(in_order=True)
        self._store.hand_over(LEAVING_S)
        return self._is_whole

    def end(self) -> None:
        """Remove the file: no process will resume these sessions."""
        self._changes.is_wanted = False
        self._changes.clear()
        self._is_whole = False
        self._file.remove()
        self._store.close()

    def _hand_over(self) -> None:
        """Send waiting sockets to systemd, at most once per PAUSE_S."""
        if not self._is_pausing and self._store.is_waiting:
            self._store.hand_over()
            self._is_pausing = True
            asyncio.get_running_loop().call_later(PAUSE_S, self._end_pause)

    def _end_pause(self) -> None:
        self._is_pausing = False
        self._hand_over()

    def _append(self) -> None:
        try:
            self._file.append()
        except OSError as error:
            self._failed(error)

    def _replace(self, *, in_order: bool = False) -> None:
        if self._is_failing:
            return
        self._file.forget()
        self._put_all(in_order=in_order)
        try:
            self._file.replace(in_order=in_order)
        except OSError as error:
            self._failed(error)
            return
        self._is_whole = True
        if self._is_failure_told:
            self._is_failure_told = False
            log.warning("'%s' can be written again: a restart keeps all clients connected", self.path)

    def _failed(self, error: OSError) -> None:
        """Remove the incomplete file: a process that restores it would contradict what clients saw."""
        if not self._is_failure_told:
            self._is_failure_told = True
            told = "a restart now would disconnect everyone: cannot write '%s': %s"
            log.error(told, self.path, error.strerror)
        self._is_whole, self._is_failing = False, True
        self._file.remove()

    def _put_changes(self) -> None:
        for session in self._changes.sessions:
            if session in self._keys:
                self._put_session(session)
        for key in self._changes.channels:
            self._put_channel(key)
        for account in self._changes.accounts:
            self._put_account(account)
        for nick in self._changes.guests:
            self._put_guest(nick)

    def _put_all(self, *, in_order: bool) -> None:
        state = self._ircd.state
        for key in {**state.empty_channels.torn(), **state.channels}:
            self._put_channel(key)
        for account in {*state.metadata.of_accounts, *state.markers.of_accounts}:
            self._put_account(account)
        for guests in state.remote_users.values():
            for guest in guests:
                self._put_guest(guest.key)
        for session in list(self._keys):
            if self._put_session(session) and (kept := self._kept.get(session)) is not None:
                for kind, value in kept.partial_io(in_order=in_order).items():
                    self._file.put(kind, kept.key, value)
        self._put_spoke_at(0.0)

    def _put_spoke_at(self, since: float) -> None:
        """Write the idle times of users who spoke since then."""
        self._spoke_put_at = self._ircd.clock()
        for session, kept in self._kept.items():
            if session.user.spoke_at >= since:
                self._file.put("spoke_at", kept.key, session.user.spoke_at)
        for guest in itertools.chain.from_iterable(self._ircd.state.remote_users.values()):
            if guest.spoke_at >= since:
                self._file.put("guest_spoke_at", guest.key, guest.spoke_at)

    def _put_session(self, session: Session) -> bool:
        """Write a session, and return whether it is still open."""
        if session.phase is CLOSED:
            self._forget(session)
            return False
        constant = self._kept[session].constant if session in self._kept else {}
        self._file.put("session", self._keys[session], {**session_values(self._ircd, session), **constant})
        return True

    def _forget(self, session: Session) -> None:
        self._kept.pop(session, None)
        if (key := self._keys.pop(session, None)) is not None:
            for kind in ("session", "half", "lost", "torn", "spoke_at"):
                self._file.put(kind, key, None)

    def _put_channel(self, key: Folded) -> None:
        state = self._ircd.state
        channel = state.channels.get(key) or state.empty_channels.find_torn(key)
        self._file.put("channel", key, channel_values(channel) if channel is not None else None)

    def _put_guest(self, nick: Folded) -> None:
        user = self._ircd.state.users.get(nick)
        if user is not None and user.server:
            self._file.put("guest", nick, guest_values(self._ircd.state, user))
        else:
            self._file.put("guest", nick, None)
            self._file.put("guest_spoke_at", nick, None)

    def _put_account(self, account: Folded) -> None:
        self._file.put("account", account, account_values(self._ircd.state, account))


class KeptConnection:
    """A kept connection, whose partial reads and writes are written to the file at once."""

    def __init__(self, keeper: SessionKeeper, connection: Connection, transport: SocketTransport) -> None:
        self._keeper = keeper
        self._connection = connection
        self._transport = transport
        self._half: bytes | None = b""
        # Stream position after the partial line. If it differs after a crash, the line cannot be completed.
        self._position: int | None = None
        self.socket: socket.socket = transport.get_extra_info("socket")
        self.key = cookie_of(self.socket)
        self.websocket = connection.transport.get_extra_info("websocket")
        self.constant: dict[str, Any] = {"origin": origin_values(connection.origin)}
        if self.websocket is None:
            connection.recorder = self
        else:
            self.websocket.recorder = self
            self.constant["is_binary"] = self.websocket.is_binary
        transport.attach_recorder(self)

    def release(self) -> None:
        """Stop recording partial reads and writes."""
        self._connection.recorder = None
        self._transport.detach_recorder()

    def record_partial_read(self, half: bytes | None) -> None:
        """Write the incomplete line at the end of the input; None marks the connection as lost."""
        if half != self._half:
            self._half = half
            self._position = read_position(self.socket) if half else None
            self._keeper.put_at_once(self.key, self._read)

    def record_partial_write(self, rest: bytes) -> None:
        """Write the rest of a line or frame that was sent in part."""
        self._keeper.put_at_once(self.key, {"torn": text_of(rest)})

    def unit_end(self, data: bytes | bytearray, start: int, sent: int) -> int:
        """Return where the line or frame that contains byte `sent` ends."""
        if self.websocket is not None:
            return partial_frame_end(data, start, sent)
        return start if sent <= start else data.index(b"\n", sent - 1) + 1

    def partial_io(self, *, in_order: bool) -> dict[str, Any]:
        """Return the partial read and write; for an orderly restart also waiting input and output."""
        partial_io = {**self._read, "torn": text_of(self._transport.partial_write)}
        if in_order:
            partial_io["waiting"] = text_of(self._connection.waiting)
            partial_io["unsent"] = text_of(self._transport.unsent)
        return partial_io

    @property
    def _read(self) -> dict[str, Any]:
        half = [text_of(self._half), self._position] if self._half else None
        return {"half": half, "lost": None if self._half is not None else True}
