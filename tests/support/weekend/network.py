"""The server's core with its history in the process of the weekend, and people who type lines."""

import asyncio
import contextvars
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from culture.config.ircd import AccountsConfig, IrcdConfig, Limits
from culture.ircd.auth.agents import AgentNick
from culture.ircd.auth.questions import NO_ACCOUNTS
from culture.ircd.commands.server.skills import skill_commands
from culture.ircd.commands.session.authentication import log_in
from culture.ircd.commands.table import COMMANDS
from culture.ircd.delivery.queue import join_output
from culture.ircd.server import Ircd
from culture.ircd.session import UNLIMITED, Phase, Session
from culture.ircd.skills import Skills
from culture.protocol.framing import SERVER_TAG_BYTES, LineBuffer
from culture.protocol.line import Line, parse_line
from culture.skills.history.skill import History
from culture.store.history.archive import Archive
from support.weekend.virtual_time import VirtualLoop

FIRST_UID = 500
PERSON_UID = 1000
PEOPLE = ("spark-ori", "spark-bo")


class KnownAgents:
    """Every agent has a Unix user of its own."""

    def __init__(self, nicks: list[str]) -> None:
        self.uids = {nick: FIRST_UID + number for number, nick in enumerate(nicks)}

    def find(self, nick: str) -> AgentNick | None:
        uid = self.uids.get(nick.lower())
        return None if uid is None else AgentNick(nick, frozenset({uid}), True)

    def runs_as(self, uid: int) -> bool:
        return uid in self.uids.values()


class Transport(asyncio.Transport):
    """A connection of a client to the server, in memory."""

    def __init__(self, server: "Server", protocol: asyncio.Protocol, session: Session) -> None:
        super().__init__()
        self._server = server
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        # What arrives is handled in the process of the client.
        self._context = contextvars.copy_context()
        self._framing = LineBuffer()
        self._is_closed = False
        self.session = session
        session.write, session.credit = self._deliver, UNLIMITED

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closed:
            self._loop.call_soon(self._arrive, bytes(data))

    def _arrive(self, data: bytes) -> None:
        for line in self._framing.feed(data):
            self._server.received(self.session, line)

    def _deliver(self, data: bytes) -> None:
        if not self._is_closed:
            self._loop.call_soon(self._protocol.data_received, bytes(data), context=self._context)

    def close(self) -> None:
        self.cut()

    def abort(self) -> None:
        self.cut()

    def is_closing(self) -> bool:
        return self._is_closed

    def cut(self) -> None:
        """End the connection as a killed process does."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.call_soon(self._server.disconnected, self.session)


class Server:
    """The IRC server of the weekend."""

    def __init__(self, directory: Path, nicks: list[str]) -> None:
        self._agents = KnownAgents(nicks)
        self.archive = Archive(directory, clock=time.time)
        history = History(self.archive, "spark")
        skills = Skills([history], report=_raise)
        ids = itertools.count(1)
        self.ircd = Ircd(
            IrcdConfig(
                name="spark",
                limits=Limits(sendq_bytes=0),
                accounts=AccountsConfig(reserve_nicks=False),
                people=tuple(f"unix:{nick.partition('-')[2]}" for nick in PEOPLE),
            ),
            {**COMMANDS, **skill_commands(skills)},
            clock=time.time,
            timer=time.monotonic,
            new_id=lambda: f"m{next(ids)}",
            version="1",
            skills=skills,
            agents=self._agents,
            account_names=NO_ACCOUNTS,
        )

    def serve(self, loop: VirtualLoop) -> None:
        """Accept the connections of agents: the name of the socket is the nick."""
        loop.connect = self._accept

    def _accept(self, protocol: asyncio.Protocol, path: str) -> None:
        nick = path.rpartition("/")[2]
        session = self.ircd.connect("spark", nick)
        session.uid, session.unix_user = self._agents.uids[nick], f"culture-{nick}"
        log_in(self.ircd, session, nick, "agent")
        protocol.connection_made(Transport(self, protocol, session))

    def received(self, session: Session, line: bytes) -> None:
        """Carry out a line and deliver what it causes."""
        self.ircd.received(session, line)
        while questions := [*self.ircd.take_questions(), *self.ircd.slices.take()]:
            self._flush()
            for question in questions:
                self.ircd.answered(question, question.ask(None))
        self._flush()

    def _flush(self) -> None:
        while pending := self.ircd.drain():
            for session, output in pending.items():
                if session.write is not None:
                    session.write(join_output(output))
        self.ircd.delivered()

    def disconnected(self, session: Session) -> None:
        """Forget a client."""
        session.write = None
        self.ircd.disconnected(session, "Connection closed")
        self._flush()

    @property
    def is_halted(self) -> bool:
        return self.ircd.halts.current is not None

    def close(self) -> None:
        self.archive.close()


class Person:
    """Somebody at a keyboard, whom the kernel names."""

    def __init__(
        self, server: Server, nick: str, number: int, on_line: Callable[["Person", Line], None]
    ) -> None:
        self.nick = nick
        self._server = server
        self._on_line = on_line
        self._framing = LineBuffer(SERVER_TAG_BYTES)
        self._session = server.ircd.connect("spark", nick)
        self._session.uid, self._session.unix_user = PERSON_UID + number, nick.partition("-")[2]
        self._session.is_administrator = number == 0
        self._session.write, self._session.credit = self._read, UNLIMITED
        self.send("CAP REQ :message-tags server-time echo-message batch")
        self.send(f"NICK {nick}", f"USER {nick} 0 * :{nick}", "CAP END")
        assert self._session.phase is Phase.REGISTERED

    def send(self, *lines: str) -> None:
        """Type lines."""
        for line in lines:
            self._server.received(self._session, line.encode())

    def say(self, target: str, text: str) -> None:
        """Say something to a channel or to an agent."""
        self.send(f"PRIVMSG {target} :{text}")

    def _read(self, data: bytes) -> None:
        for raw in self._framing.feed(data):
            self._on_line(self, parse_line(raw.decode()))


def _raise(skill: str, error: Exception) -> Any:
    raise error
