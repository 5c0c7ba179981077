"""What goes on after a restart: connections are kept by the service manager, what is known of them in a file.

Nothing is written for a line that is only said. All else is written before anybody is told of it, so that a
process that takes up what a crash left never contradicts what clients saw.
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
from culture.ircd.core import Ircd
from culture.ircd.session import CLOSED, Session
from culture.ircd.snapshot import account_values, channel_values, guest_values, session_values
from culture.names import Folded
from culture.net.connection import Connection
from culture.net.frames import torn_frame_end
from culture.net.kept import KeptFile, text_of
from culture.net.origin import origin_values
from culture.net.position import read_position
from culture.net.wire import Wire
from culture.systemd.fdstore import FdStore

log = logging.getLogger(__name__)

FILE: Final = "sessions"
LINES: Final = "c"
FRAMES: Final = "w"
"""The names by which sockets are kept: they carry lines, or frames of WebSocket. All names together come back
in one variable of the environment, which has no room for long ones (execve(2), MAX_ARG_STRLEN)."""
PAUSE_S: Final = 0.02
"""Between two messages to the manager: what it does for each costs more than what it does for each socket."""
LEAVING_S: Final = 2.0
SPOKE_EVERY_S: Final = 60.0
"""How often it is written who spoke meanwhile. After a crash idle times are off by so much at the most."""
_SO_COOKIE: Final = 57  # socket(7); Python does not name it
_COOKIE: Final = struct.Struct("Q")


def cookie_of(sock: socket.socket) -> str:
    """The kernel's name for a socket: no other has it, and every process that holds it finds the same."""
    (cookie,) = _COOKIE.unpack(sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, _COOKIE.size))
    return str(cookie)


def open_keeper(ircd: Ircd, env: Mapping[str, str]) -> "Keeper | None":
    """Nobody, where the service manager keeps no sockets or gives no place for the file."""
    store, directory = FdStore(env), paths.runtime_dir(env)
    return Keeper(ircd, store, directory) if store.room and directory is not None else None


class Keeper:
    def __init__(self, ircd: Ircd, store: FdStore, directory: Path) -> None:
        self.path = directory / FILE
        self.stored: set[str] = set()
        """The sockets that the manager has from an earlier process."""
        self._ircd = ircd
        self._changes = ircd.state.changes
        self._changes.is_wanted = True
        self._store = store
        self._file = KeptFile(self.path, ircd.name)
        self._kept: dict[Session, KeptConnection] = {}
        self._keys: dict[Session, str] = {}
        """Of all clients. Others are told after a crash that those are gone whom nobody keeps."""
        self._unkept = itertools.count()
        self._is_whole = False
        """Whether the file has all that it should."""
        self._is_failing = False
        """It could not be written; it is tried again with the next tick."""
        self._is_failure_told = False
        self._is_pausing = False
        self._spoke_put_at = 0.0

    def opened(self, connection: Connection) -> None:
        wire: Wire | None = connection.transport.get_extra_info("wire")
        if wire is not None and len(self._kept) < self._store.room:
            kept = self._kept[connection.session] = KeptConnection(self, connection, wire)
            if kept.key not in self.stored:
                self._store.put(FRAMES if kept.websocket is not None else LINES, kept.socket)
            self._keys[connection.session] = kept.key
        else:
            self._keys[connection.session] = f"unkept {next(self._unkept)}"
        self._changes.touch(connection.session)

    def released(self, connection: Connection) -> None:
        """It turned out to be a link, which the next process makes anew."""
        if (kept := self._kept.get(connection.session)) is not None:
            kept.release()
        self._forget(connection.session)

    def keeps(self, session: Session) -> bool:
        return session in self._kept

    def write_down(self) -> None:
        """What is new since the last time, before it is delivered."""
        if not self._changes and not self._file.is_too_large:
            return
        if not self._is_whole or self._file.is_too_large:
            self._replace()
        else:
            self._put_news()
            self._append()
        self._changes.clear()
        self._hand_over()

    def put_at_once(self, key: str, values: Mapping[str, Any]) -> None:
        """By their kinds."""
        if self._is_whole:
            for kind, value in values.items():
                self._file.put(kind, key, value)
            self._append()

    def tick(self) -> None:
        """Time passed: what failed may go well now."""
        if not self._is_whole:
            self._is_failing = False
            self._replace()
        elif self._ircd.clock() - self._spoke_put_at >= SPOKE_EVERY_S:
            self._put_spoke_at(self._spoke_put_at)
            self._append()

    def leave(self) -> bool:
        """Write all that another process needs to go on as if nothing was. Whether it is all there."""
        self._is_failing = False
        self._replace(in_order=True)
        self._store.hand_over(LEAVING_S)
        return self._is_whole

    def end(self) -> None:
        """Nobody goes on."""
        self._changes.is_wanted = False
        self._changes.clear()
        self._is_whole = False
        self._file.remove()
        self._store.close()

    def _hand_over(self) -> None:
        """Now, or together with those that come until the manager is told again."""
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
            log.warning("'%s' is written again: a restart disconnects nobody", self.path)

    def _failed(self, error: OSError) -> None:
        """Half of it is worse than nothing: whoever takes it up would contradict what clients saw."""
        if not self._is_failure_told:
            self._is_failure_told = True
            told = "a restart now would disconnect everyone: cannot write '%s': %s"
            log.error(told, self.path, error.strerror)
        self._is_whole, self._is_failing = False, True
        self._file.remove()

    def _put_news(self) -> None:
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
        for key in {**state.emptied.torn(), **state.channels}:
            self._put_channel(key)
        for account in {*state.metadata.of_accounts, *state.markers.of_accounts}:
            self._put_account(account)
        for guests in state.guests.values():
            for guest in guests:
                self._put_guest(guest.key)
        for session in list(self._keys):
            if self._put_session(session) and (kept := self._kept.get(session)) is not None:
                for kind, value in kept.halves(in_order=in_order).items():
                    self._file.put(kind, kept.key, value)
        self._put_spoke_at(0.0)

    def _put_spoke_at(self, since: float) -> None:
        """Of those who spoke since then."""
        self._spoke_put_at = self._ircd.clock()
        for session, kept in self._kept.items():
            if session.user.spoke_at >= since:
                self._file.put("spoke_at", kept.key, session.user.spoke_at)
        for guest in itertools.chain.from_iterable(self._ircd.state.guests.values()):
            if guest.spoke_at >= since:
                self._file.put("guest_spoke_at", guest.key, guest.spoke_at)

    def _put_session(self, session: Session) -> bool:
        """Whether it still is one."""
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
        channel = state.channels.get(key) or state.emptied.find_torn(key)
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
    """One connection: what was read and what was written of it in part is put down at once."""

    def __init__(self, keeper: Keeper, connection: Connection, wire: Wire) -> None:
        self._keeper = keeper
        self._connection = connection
        self._wire = wire
        self._half: bytes | None = b""
        self._position: int | None = None
        """Up to where the half goes: who reads on from elsewhere would put wrong halves together."""
        self.socket: socket.socket = wire.get_extra_info("socket")
        self.key = cookie_of(self.socket)
        self.websocket = connection.transport.get_extra_info("websocket")
        self.constant: dict[str, Any] = {"origin": origin_values(connection.origin)}
        if self.websocket is None:
            connection.keep = self
        else:
            self.websocket.keep = self
            self.constant["is_binary"] = self.websocket.is_binary
        wire.be_kept(self)

    def release(self) -> None:
        self._connection.keep = None
        self._wire.be_released()

    def read(self, half: bytes | None) -> None:
        if half != self._half:
            self._half = half
            self._position = read_position(self.socket) if half else None
            self._keeper.put_at_once(self.key, self._read)

    def torn(self, rest: bytes) -> None:
        self._keeper.put_at_once(self.key, {"torn": text_of(rest)})

    def unit_end(self, data: bytes | bytearray, start: int, sent: int) -> int:
        if self.websocket is not None:
            return torn_frame_end(data, start, sent)
        return start if sent <= start else data.index(b"\n", sent - 1) + 1

    def halves(self, *, in_order: bool) -> dict[str, Any]:
        """What must go on where it stopped; in an orderly leave also all that only waits."""
        halves = {**self._read, "torn": text_of(self._wire.torn)}
        if in_order:
            halves["waiting"] = text_of(self._connection.waiting)
            halves["unsent"] = text_of(self._wire.unsent)
        return halves

    @property
    def _read(self) -> dict[str, Any]:
        half = [text_of(self._half), self._position] if self._half else None
        return {"half": half, "lost": None if self._half is not None else True}
