"""Perform the I/O of the mesh: dial peers, read history for them, log notes and write the status file."""

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
from culture.config.links import ANY_HOST, LinkConfig, check_secrets, plain_fingerprint, secrets_in
from culture.errors import CultureError
from culture.federation.links.link import PendingRead
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller, EventLog, MeshNote, MeshNoteKind, MeshSettings, Peer
from culture.ircd.replication.host_adapter import MeshHost
from culture.ircd.session import Session
from culture.names import fold
from culture.net.connection import Connection
from culture.net.driver import Driver
from culture.net.links.dialing import dial
from culture.net.links.mesh_adapter import MeshLinks
from culture.net.listen.origin import origin_of
from culture.store.proof_key import read_or_make_key
from culture.systemd.credentials import read_credential
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# Threads that read history for peers.
READERS: Final = 2
# Repeated failures do not flood the journal: one entry per reason in this time.
LOG_INTERVAL_S: Final = 60.0
# A secret with fewer characters causes a warning: 16 characters of base64 are 96 bits.
SHORT_SECRET: Final = 16
# Most characters of a peer's text in a log entry.
MAX_LOGGED_CHARS: Final = 300
_KINDS: Final = {
    MeshNoteKind.LINKED: ("linked", logging.INFO),
    MeshNoteKind.UNLINKED: ("unlinked", logging.WARNING),
    MeshNoteKind.REFUSED: ("link-refused", logging.WARNING),
    MeshNoteKind.BROKEN: ("link-broken", logging.WARNING),
    MeshNoteKind.SKEWED: ("link-skewed", logging.WARNING),
    MeshNoteKind.SPLIT: ("split", logging.WARNING),
}


def peers_of(config: IrcdConfig, env: Mapping[str, str]) -> dict[str, Peer]:
    """Return the configured peers with their secrets.

    Raises ConfigError if a secret is missing or two links share one.
    """
    texts = {link.name: read_credential(link.secret_credential, env) for link in config.links}
    check_secrets(texts)
    secrets = {name: secrets_in(text) for name, text in texts.items()}
    return {
        link.name: Peer(
            link.name,
            secrets[link.name][0],
            frozenset(map(fold, link.channels)) if link.channels else None,
            has_address=bool(link.address),
            is_dialed=bool(link.address) and link.autoconnect,
            accept_from=link.accept_from,
            accept_fingerprint=plain_fingerprint(link.accept_fingerprint),
            plain_secret=link.plain_secret,
            other_secrets=secrets[link.name][1:],
            leads_to=None if ANY_HOST in link.leads_to else frozenset(link.leads_to),
        )
        for link in config.links
    }


def settings_of(config: IrcdConfig) -> MeshSettings:
    mesh = config.mesh
    return MeshSettings(
        mesh.split_after_s, mesh.ping_interval_s, mesh.ping_timeout_s, believe_past=mesh.believe_past
    )


def open_links(
    driver: Driver, history: EventLog, state_dir: Path, env: Mapping[str, str]
) -> "MeshRuntime | None":
    """Start the mesh, or return None without links. Call it after kept sessions were restored."""
    ircd, config = driver.ircd, driver.ircd.config
    if not config.links:
        return None
    peers = peers_of(config, env)
    for name in [peer.name for peer in peers.values() if len(peer.secret) < SHORT_SECRET]:
        log.warning(
            "%s: the secret of this link is short; someone who records a handshake can guess it",
            name,
            extra=fields(peer=name),
        )
    mesh = Mesh(
        ircd.name,
        MeshHost(ircd),
        peers,
        history.holdings(),
        generation=ircd.record.generation,
        proof_key=read_or_make_key(state_dir / paths.PROOF_KEY),
        clock=ircd.clock,
        timer=ircd.timer,
        random=random.random,
        description=config.description,
        settings=settings_of(config),
    )
    return MeshRuntime(driver, mesh, history, state_dir / paths.LINKS)


class MeshRuntime:
    """The MeshIo of a running server."""

    def __init__(self, driver: Driver, mesh: Mesh, history: EventLog, status_file: Path) -> None:
        self._driver = driver
        self._links = MeshLinks(driver.ircd, mesh, self)
        self._history = history
        self._status_file = status_file
        self._configured = {link.name: link for link in driver.ircd.config.links}
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="links")
        self._tasks: set[asyncio.Task[None]] = set()
        self._logged_at: dict[tuple[str, str], float] = {}
        driver.ircd.link(self._links)
        driver.on_tick = self._tick
        # culturectl may read the status as soon as the server is ready.
        self._write_status()

    def stop(self) -> None:
        """Stop dialing and reading, and remove the status file."""
        for task in self._tasks:
            task.cancel()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._status_file.unlink(missing_ok=True)

    # MeshIo

    def dial(self, name: str) -> None:
        self._begin(self._dial(self._configured[name]))

    def read(self, read: PendingRead) -> None:
        self._begin(self._read(read))

    def caller(self, session: Session) -> Caller:
        connection = self._driver.connection_of(session)
        address = connection.origin.address if connection is not None else None
        return Caller("unix" if address is None else str(address), session.fingerprint)

    def unsent(self, session: Session) -> int:
        connection = self._driver.connection_of(session)
        return connection.transport.get_write_buffer_size() if connection is not None else 0

    def note(self, note: MeshNote) -> None:
        kind, level = _KINDS[note.kind]
        if note.kind is MeshNoteKind.REFUSED and not self._may_log(*self._about(note)):
            return
        peer, text = _sanitize(note.peer), _sanitize(note.text)
        log.log(level, "%s: %s", peer, text, extra=fields(kind, peer=peer))

    def failed(self, error: Exception) -> None:
        log.error("a bug in link handling", exc_info=error)

    def _about(self, note: MeshNote) -> tuple[str, str]:
        """Return the key for log throttling: unknown peers are grouped by address, not by claimed name."""
        is_known = note.peer in self._configured
        return (note.peer, note.text) if is_known else ("", note.text.partition(" ")[0])

    def _tick(self) -> None:
        self._links.tick()
        self._write_status()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, read: PendingRead) -> None:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._readers, self._history.read, read.request)
        except CultureError as error:
            self._warn(read.request.origin, f"cannot read history for a peer: {error}")
            self._links.unread(read)
        else:
            self._links.found(read, found)
        self._driver.wake()

    async def _dial(self, link: LinkConfig) -> None:
        connection = Connection(self._driver)
        try:
            transport = await dial(link, self._driver.ircd.config.tls, self._transport_factory(connection))
        except CultureError as error:
            self._warn(link.name, str(error))
            self._links.dial_failed(link.name)
            return
        transport.set_protocol(connection)
        connection.call(transport, origin_of(transport))
        self._links.dialed(connection.session, link.name)
        self._driver.wake()

    def _transport_factory(self, connection: Connection) -> Callable[[socket.socket], asyncio.Transport]:
        def make_transport(sock: socket.socket) -> asyncio.Transport:
            transport = self._driver.make_transport(sock, connection, sock.getpeername())
            transport.resume(b"", b"")
            return transport

        return make_transport

    def _warn(self, peer: str, text: str) -> None:
        if self._may_log(peer, text):
            log.warning("%s: %s", peer, text, extra=fields(peer=peer))

    def _may_log(self, peer: str, text: str) -> bool:
        now = self._driver.now()
        self._logged_at = {what: at for what, at in self._logged_at.items() if now - at < LOG_INTERVAL_S}
        if (peer, text) in self._logged_at:
            return False
        self._logged_at[peer, text] = now
        return True

    def _write_status(self) -> None:
        """Replace the status file atomically. Errors are ignored: other parts report a full disk."""
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


def _sanitize(text: str) -> str:
    """Shorten text from a peer and replace control characters."""
    return "".join(each if each.isprintable() else "�" for each in text[:MAX_LOGGED_CHARS])
