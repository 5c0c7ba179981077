"""Serve the ledger of a host to its agents, which run as other Unix users and must not edit it.

An agent's commands run as the same user as its daemon. So an agent is only whoever has its user and is also
the main process of its service: a command that connects may read what its agent spent, and nothing else.
"""

import asyncio
import logging
import pwd
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from culture.agent.ledger import wire
from culture.agent.ledger.limits import host_of
from culture.config.agents import AgentsConfig
from culture.errors import CultureError, NotAllowedError, UsageError
from culture.names import agent_user
from culture.store.ledger.file import LedgerFile
from culture.store.ledger.records import micro_usd

log = logging.getLogger(__name__)

# Connections at once; each agent has one.
MAX_CONNECTIONS: Final = 512

# Returns the main process of an agent's service; 0 if it does not run.
MainPid = Callable[[str], Awaitable[int]]


@dataclass(slots=True)
class _Peer:
    """Who is at the other end of a connection."""

    pid: int
    user: str
    # The agent whose daemon it has proven to be.
    nick: str = ""


class LedgerService:
    """Answers requests. `config` returns agents.yaml as it is now, so new budgets need no restart."""

    def __init__(self, ledger: LedgerFile, config: Callable[[], AgentsConfig], main_pid: MainPid) -> None:
        self._ledger = ledger
        self._config = config
        self._main_pid = main_pid
        self._connections: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) <= MAX_CONNECTIONS:
                await self._serve(_peer_of(writer.get_extra_info("socket")), reader, writer)
        except (ConnectionError, ValueError):
            # The client is gone, or sent a line that is too long.
            return
        finally:
            self._connections.discard(task)
            writer.close()

    async def close(self) -> None:
        """End all connections."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, peer: _Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (line := await reader.readline()).endswith(b"\n"):
            writer.write(wire.encode(await self._answer(peer, line)))
            await writer.drain()

    async def _answer(self, peer: _Peer, line: bytes) -> wire.Json:
        try:
            request = wire.decode(line)
            operation, arguments = request.get("do"), request.get("with", [])
            if operation == "hello":
                await self._hello(peer, *arguments)
                return {"value": None}
            return {"value": self._run(peer, operation, arguments)}
        except CultureError as error:
            return wire.refusal(error)
        except (TypeError, ValueError, AttributeError):
            return wire.refusal(UsageError("the request has wrong arguments"))
        except Exception:
            # A bug in one operation fails this request only.
            log.exception("a request to the ledger failed")
            return wire.refusal(CultureError("internal error; see the journal"))

    async def _hello(self, peer: _Peer, nick: str) -> None:
        users = {agent.nick: agent.user or agent_user(agent.nick) for agent in self._config().agents}
        if users.get(nick) != peer.user:
            raise NotAllowedError(f"user '{peer.user}' does not run the agent '{nick}'")
        if await self._main_pid(nick) != peer.pid:
            raise NotAllowedError(f"process {peer.pid} is not the service of '{nick}'")
        peer.nick = nick

    def _run(self, peer: _Peer, operation: object, arguments: Sequence[Any]) -> Any:
        if operation == "report":
            by, since = arguments
            return self._ledger.report(by, since, self._only_agent(peer))
        handler = _OPERATIONS.get(str(operation))
        if handler is None:
            raise UsageError(f"unknown operation '{operation}'")
        if not peer.nick:
            raise NotAllowedError("only the service of an agent may do this")
        return handler(self, peer.nick, *arguments)

    def _only_agent(self, peer: _Peer) -> str:
        """Return the agent whose figures this peer may read; empty: those of all agents.

        Commands of an agent do not read the tasks of other agents.
        """
        users = {agent_user(agent.nick): agent.nick for agent in self._config().agents}
        return peer.nick or users.get(peer.user, "")

    # The operations of a proven agent. It writes its own entries only: their ids begin with its nick.

    def _reserve(self, nick: str, hold: Any) -> Any:
        return self._ledger.reserve(_own_hold(nick, hold))

    def _check(self, nick: str, _: str, login: str, amount: int) -> Any:
        return self._ledger.check(nick, login, amount)

    def _extend(self, nick: str, hold_id: str, amount: int) -> Any:
        if amount < 0:
            raise UsageError("a reservation does not shrink")
        return self._ledger.extend(_own_id(nick, hold_id), amount)

    def _progress(self, nick: str, hold_id: str, use: Any) -> Any:
        self._ledger.progress(_own_id(nick, hold_id), wire.read_use(use))

    def _settle(self, nick: str, hold_id: str, use: Any, turn: str, model: str) -> Any:
        return self._ledger.settle(_own_id(nick, hold_id), wire.read_use(use), turn=turn, model=model)

    def _book(self, nick: str, hold: Any, use: Any, turn: str, turns: int, day: str) -> Any:
        return self._ledger.book(_own_hold(nick, hold), wire.read_use(use), turn=turn, turns=turns, day=day)

    def _void(self, nick: str, hold_id: str) -> Any:
        self._ledger.void(_own_id(nick, hold_id))

    def _settle_foreign(self, nick: str, _: str, owner: str) -> Any:
        return self._ledger.settle_foreign(nick, owner)

    def _raise_budget(self, nick: str, raise_id: str, limit: Any, by: str) -> Any:
        limit = wire.read_limit(limit)
        if limit.name not in (nick, host_of(nick)):
            raise NotAllowedError(f"'{nick}' has no part in the budget of '{limit.name}'")
        if limit.amount > micro_usd(self._config().budgets.raise_usd):
            raise NotAllowedError("a budget is raised by at most 'raise_usd' at once")
        self._ledger.raise_budget(f"{nick}/{raise_id}", limit, by)

    def _open_quota(self, nick: str, quota: Any, _: str) -> Any:
        return self._ledger.open_quota(wire.read_quota(quota), nick)

    def _budgets(self, nick: str, _: str) -> Any:
        return self._ledger.budgets(nick)

    def _spent_today(self, nick: str, _: str) -> Any:
        return self._ledger.spent_today(nick)

    def _spent_in_total(self, nick: str, _: str) -> Any:
        return self._ledger.spent_in_total(nick)


_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "reserve": LedgerService._reserve,
    "check": LedgerService._check,
    "extend": LedgerService._extend,
    "progress": LedgerService._progress,
    "settle": LedgerService._settle,
    "book": LedgerService._book,
    "void": LedgerService._void,
    "settle_foreign": LedgerService._settle_foreign,
    "raise_budget": LedgerService._raise_budget,
    "open_quota": LedgerService._open_quota,
    "budgets": LedgerService._budgets,
    "spent_today": LedgerService._spent_today,
    "spent_in_total": LedgerService._spent_in_total,
}


def _own_hold(nick: str, value: Any) -> Any:
    hold = wire.read_hold(value)
    _own_id(nick, hold.id)
    return hold._replace(spender=hold.spender._replace(agent=nick, host=host_of(nick)))


def _own_id(nick: str, hold_id: str) -> str:
    if not hold_id.startswith(f"{nick}/"):
        raise NotAllowedError(f"'{hold_id}' is not an entry of '{nick}'")
    return hold_id


def _peer_of(connection: socket.socket) -> _Peer:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    try:
        return _Peer(pid, pwd.getpwuid(uid).pw_name)
    except KeyError:
        return _Peer(pid, str(uid))
