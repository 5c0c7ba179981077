"""Carries out what the mesh asks for: connects to other hosts, reads history for them, tells operators."""

import asyncio
import contextlib
import json
import logging
import random
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from culture.config import paths
from culture.config.ircd import IrcdConfig
from culture.config.links import LinkConfig, plain_fingerprint
from culture.errors import CultureError
from culture.federation.link import Read
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller, Log, Note, NoteKind, Peer, Settings
from culture.ircd.mesh.host import MeshHost
from culture.ircd.session import Session
from culture.names import fold
from culture.net.connection import Connection
from culture.net.dialing import dial
from culture.net.driver import Driver
from culture.net.mesh import MeshLinks
from culture.net.origin import origin_of
from culture.systemd.credentials import read_credential
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

READERS: Final = 2
"""Threads that read history for other hosts."""
TOLD_AGAIN_S: Final = 60.0
"""A host that cannot be reached, or that is refused, fills no journal: one entry per reason in so long."""
LONGEST: Final = 300
"""Of what a stranger said, in an entry."""
_KINDS: Final = {
    NoteKind.LINKED: ("linked", logging.INFO),
    NoteKind.UNLINKED: ("unlinked", logging.WARNING),
    NoteKind.REFUSED: ("link-refused", logging.WARNING),
    NoteKind.BROKEN: ("link-broken", logging.WARNING),
    NoteKind.SKEWED: ("link-skewed", logging.WARNING),
    NoteKind.SPLIT: ("split", logging.WARNING),
}


def peers_of(config: IrcdConfig, env: Mapping[str, str]) -> dict[str, Peer]:
    """The hosts that may be linked, with their secrets. Raises ConfigError for one that is not there."""
    return {
        link.name: Peer(
            link.name,
            read_credential(link.secret_credential, env),
            frozenset(map(fold, link.channels)) if link.channels else None,
            has_address=bool(link.address),
            is_dialed=bool(link.address) and link.autoconnect,
            accept_from=link.accept_from,
            accept_fingerprint=plain_fingerprint(link.accept_fingerprint),
        )
        for link in config.links
    }


def settings_of(config: IrcdConfig) -> Settings:
    mesh = config.mesh
    return Settings(mesh.split_after_s, mesh.ping_interval_s, mesh.ping_timeout_s)


def open_links(driver: Driver, history: Log, state_dir: Path, env: Mapping[str, str]) -> "Linking | None":
    """None without links. Those who go on from another process are restored before."""
    ircd, config = driver.ircd, driver.ircd.config
    if not config.links:
        return None
    mesh = Mesh(
        ircd.name,
        MeshHost(ircd),
        peers_of(config, env),
        history.holdings(),
        generation=ircd.record.generation,
        clock=ircd.clock,
        timer=ircd.timer,
        random=random.random,
        description=config.description,
        settings=settings_of(config),
    )
    return Linking(driver, mesh, history, state_dir / paths.LINKS)


class Linking:
    """A carrier for `MeshLinks`."""

    def __init__(self, driver: Driver, mesh: Mesh, history: Log, status_file: Path) -> None:
        self._driver = driver
        self._links = MeshLinks(driver.ircd, mesh, self)
        self._history = history
        self._status_file = status_file
        self._configured = {link.name: link for link in driver.ircd.config.links}
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="links")
        self._tasks: set[asyncio.Task[None]] = set()
        self._told_at: dict[tuple[str, str], float] = {}
        driver.ircd.link(self._links)
        driver.on_tick = self._tick
        # Whoever waited for the server to be ready may ask at once.
        self._write_status()

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._status_file.unlink(missing_ok=True)

    # What the mesh asks for.

    def dial(self, name: str) -> None:
        self._begin(self._dial(self._configured[name]))

    def read(self, read: Read) -> None:
        self._begin(self._read(read))

    def caller(self, session: Session) -> Caller:
        connection = self._driver.connection_of(session)
        address = connection.origin.address if connection is not None else None
        return Caller("unix" if address is None else str(address), session.fingerprint)

    def unsent(self, session: Session) -> int:
        connection = self._driver.connection_of(session)
        return connection.transport.get_write_buffer_size() if connection is not None else 0

    def note(self, note: Note) -> None:
        kind, level = _KINDS[note.kind]
        if note.kind is NoteKind.REFUSED and not self._is_news(*self._about(note)):
            return
        peer, text = _shown(note.peer), _shown(note.text)
        log.log(level, "%s: %s", peer, text, extra=fields(kind, peer=peer))

    def _about(self, note: Note) -> tuple[str, str]:
        """A stranger is known by where it comes from, whatever it calls itself each time."""
        is_known = note.peer in self._configured
        return (note.peer, note.text) if is_known else ("", note.text.partition(" ")[0])

    # How it is done.

    def _tick(self) -> None:
        self._links.tick()
        self._write_status()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, read: Read) -> None:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._readers, self._history.read, read.request)
        except CultureError as error:
            self._warn(read.request.origin, f"history cannot be read for another host: {error}")
            self._links.unread(read)
        else:
            self._links.found(read, found)
        self._driver.wake()

    async def _dial(self, link: LinkConfig) -> None:
        connection = Connection(self._driver)
        try:
            transport = await dial(link, self._driver.ircd.config.tls, self._wired(connection))
        except CultureError as error:
            self._warn(link.name, str(error))
            self._links.undialed(link.name)
            return
        transport.set_protocol(connection)
        connection.call(transport, origin_of(transport))
        self._links.dialed(connection.session, link.name)
        self._driver.wake()

    def _wired(self, connection: Connection) -> Callable[[socket.socket], asyncio.Transport]:
        def wired(sock: socket.socket) -> asyncio.Transport:
            wire = self._driver.wire(sock, connection, sock.getpeername())
            wire.go_on(b"", b"")
            return wire

        return wired

    def _warn(self, peer: str, text: str) -> None:
        if self._is_news(peer, text):
            log.warning("%s: %s", peer, text, extra=fields(peer=peer))

    def _is_news(self, peer: str, text: str) -> bool:
        now = self._driver.now()
        self._told_at = {what: at for what, at in self._told_at.items() if now - at < TOLD_AGAIN_S}
        if (peer, text) in self._told_at:
            return False
        self._told_at[peer, text] = now
        return True

    def _write_status(self) -> None:
        """Whole or not at all, whoever reads it meanwhile. Others need a full disk more, and tell of it."""
        fresh = self._status_file.with_suffix(".part")
        with contextlib.suppress(OSError):
            fresh.write_text(json.dumps({"links": self._status()}))
            fresh.rename(self._status_file)

    def _status(self) -> list[dict[str, Any]]:
        elapsed = time.time() - time.monotonic()
        return [
            {
                "host": each.name,
                "state": "linked" if each.is_up else "apart",
                "since": round(elapsed + each.since) if each.since is not None else None,
                "lag_ms": round(each.lag_s * 1000, 1) if each.lag_s is not None else None,
                "channels": sorted(each.channels) if each.channels is not None else None,
                "lacking_here": list(each.lacking_here),
                "lacking_there": list(each.lacking_there),
            }
            for each in self._links.status()
        ]


def _shown(text: str) -> str:
    """What strangers call themselves, without what a terminal would obey."""
    return "".join(each if each.isprintable() else "�" for each in text[:LONGEST])
