"""Hosts that are linked: real servers, each under a manager, with a way between two that can be cut."""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from culture.store.history.maintenance import backup
from support.manager import Manager, managed

DEADLINE_S = 30.0
SECRET = "sesame, open the door"


def secret_of(pair: str) -> str:
    """Each link has a secret of its own."""
    return f"{SECRET} of {pair}"


QUICK = "mesh: {split_after_s: 2, ping_interval_s: 1, ping_timeout_s: 2}\n"


class Way:
    """Between a host that dials and one that listens: passes bytes on, or swallows them, or is not there."""

    def __init__(self, door: Path, leads_to: Path) -> None:
        self.door = door
        self._leads_to = leads_to
        self._is_swallowing = False
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        # How many bytes.
        self.passed = 0
        # The first of what the two sides said, in the order in which it passed.
        self.carried = b""
        # 0: as fast as they come.
        self.bytes_per_s = 0

    async def open(self) -> None:
        self._is_swallowing = False
        if self._server is None:
            self._server = await asyncio.start_unix_server(self._meet, self.door)

    def cut(self) -> None:
        """Both sides learn of it, and nobody gets through until it is opened again."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self.door.unlink()
        self.break_off()

    def break_off(self) -> None:
        """Both sides learn of it, and may try again at once."""
        for end in self._ends:
            end.transport.abort()

    def swallow(self) -> None:
        """Neither side learns of anything; who comes anew is taken, and not heard either."""
        self._is_swallowing = True

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other = await asyncio.open_unix_connection(self._leads_to)
        self._ends |= {writer, other}
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._carry(reader, other))
            tasks.create_task(self._carry(other_reader, writer))

    async def _carry(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(4096):
                if self.bytes_per_s:
                    await asyncio.sleep(len(data) / self.bytes_per_s)
                if not self._is_swallowing:
                    self.passed += len(data)
                    self.carried += data if len(self.carried) < 4096 else b""
                    to.write(data)
                    await to.drain()
        self._ends.discard(to)
        to.transport.abort()


class Mesh:
    def __init__(self) -> None:
        self.hosts: dict[str, Manager] = {}
        self.ways: dict[str, Way] = {}

    def __getitem__(self, name: str) -> Manager:
        return self.hosts[name]

    def port(self, name: str) -> int:
        return self.hosts[name].port()

    def history(self, name: str, channel: str = "#ops") -> list[tuple[Any, ...]]:
        with tempfile.TemporaryDirectory() as place:
            backup(self.hosts[name].directory / "history", Path(place, "copy"))
            return rows_of(name, Path(place, "copy"), channel)

    def texts(self, name: str, channel: str = "#ops") -> list[str]:
        return [row[10] for row in self.history(name, channel) if row[4] == "PRIVMSG"]

    async def linked(self, *names: str) -> None:
        """Each of these hosts said that one of its links is there."""
        for name in names:
            await eventually(lambda name=name: ": linked" in self.hosts[name].journal, self.hosts[name])

    async def unlinked(self, *names: str) -> None:
        """Each of these hosts has noticed that a link is gone."""
        for name in names:
            await eventually(lambda name=name: self._is_apart(name), self.hosts[name])

    def _is_apart(self, name: str) -> bool:
        path = self.hosts[name].directory / "links.json"
        status = json.loads(path.read_text()) if path.exists() else {"links": ()}
        return any(link["state"] == "apart" for link in status["links"])


def rows_of(name: str, copy: Path, channel: str) -> list[tuple[Any, ...]]:
    """What a host has of a channel, row by row and in order; origins by their names."""
    query = """
    SELECT coalesce(nullif(host, ''), ?), seq, at_ms, msgid, command, mask, account, is_public,
           is_redacted, target, text, tags, params
    FROM events JOIN places ON places.id = place JOIN sources ON sources.id = source
    JOIN origins ON origins.id = origin WHERE places.name = ? ORDER BY at_ms, seq, msgid
    """
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        return connection.execute(query, (name, channel)).fetchall()


async def eventually(is_so: Callable[[], bool], manager: Manager | None = None) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, manager.journal if manager is not None else "it never was"
        await asyncio.sleep(0.02)


def links_of(name: str, graph: Sequence[str], directory: Path, options: Mapping[str, str]) -> str:
    """The `links` of a host: in `spark-thor` spark dials, and both know each other."""
    lines = []
    for pair in graph:
        one, other = pair.split("-")
        if name in (one, other):
            peer = other if name == one else one
            address = f", address: 'unix:{directory}/{pair}'" if name == one else ""
            lines.append(f"  - {{name: {peer}, secret_credential: {pair}{address}{options.get(pair, '')}}}\n")
    return "links:\n" + "".join(lines)


@contextlib.asynccontextmanager
async def meshed(
    directory: Path, *graph: str, config: str = QUICK, options: Mapping[str, str] | None = None
) -> AsyncIterator[Mesh]:
    """Hosts of these links, which are up. `options` of a link are more keys, for both sides."""
    mesh = Mesh()
    async with contextlib.AsyncExitStack() as undo:
        names = sorted({name for pair in graph for name in pair.split("-")})
        for pair in graph:
            way = mesh.ways[pair] = Way(directory / pair, directory / pair.split("-")[1] / "ircd.sock")
            undo.callback(way.cut)
            await way.open()
        for name in names:
            place = directory / name
            (place / "credentials").mkdir(parents=True)
            for pair in graph:
                (place / "credentials" / pair).write_text(secret_of(pair))
            text = config + links_of(name, graph, directory, options or {})
            mesh.hosts[name] = await undo.enter_async_context(managed(place, text, name=name))
        await mesh.linked(*names)
        yield mesh
