"""Serve the agent's Unix socket: JSON lines, each answered with a response of the same id."""

import asyncio
import hmac
import json
import logging
import os
import select
import socket
from collections.abc import Awaitable, Callable, Container
from typing import Any, Final

from culture.agent.tools.callers import Caller, caller_of, person_at
from culture.agent.tools.whispers import Whispers
from culture.errors import CultureError, NotAllowedError, TemporaryError, UsageError

log = logging.getLogger(__name__)

MAX_LINE_BYTES: Final = 256 * 1024
# Simultaneous connections. Calls are short except for `irc ask`, and an agent asks few questions at once.
MAX_CONNECTIONS: Final = 64
# How long a connection may stay open without a request.
IDLE_TIMEOUT_S: Final = 60.0

# Who makes a request, as its `by` says: a person or another program, or a process of the agent.
PERSON: Final = "person"
AGENT: Final = "agent"

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[Json]]


class IpcServer:
    """Answers requests of processes with the daemon's own user id, and of root.

    A response is preceded by waiting whispers if the request carries the proof that only the agent's own
    processes have in their environment. If `proof` is empty, the socket delivers no whispers. The handler
    reads in `by` whether the request carried the proof; `identify` names the person who makes a personal one.
    """

    def __init__(
        self,
        handler: Handler,
        whispers: Whispers,
        idle_s: float = IDLE_TIMEOUT_S,
        *,
        proof: str = "",
        personal: Container[str] = (),
        identify: Callable[[Caller], str] = person_at,
        on_unsent: Callable[[Json], None] = lambda answer: None,
    ) -> None:
        self._proof = proof
        # Requests that only a person may make; their `who` is filled in with the name of the user.
        self._personal = personal
        self._identify = identify
        # Receives a response that could not be sent because the client is gone.
        self._on_unsent = on_unsent
        self._handler = handler
        self._whispers = whispers
        self._idle_s = idle_s
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        """Accept connections on a listening socket."""
        self._server = await asyncio.start_unix_server(self._accepted, sock=listener, limit=MAX_LINE_BYTES)

    async def stop(self) -> None:
        """Close the socket and cancel all running requests."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            reason = self._refusal_reason(writer.get_extra_info("socket"))
            if reason is None:
                await self._serve(reader, writer)
            else:
                await self._refuse_connection(reader, writer, reason)
        except (ConnectionError, TimeoutError):
            # The client hung up before the response, or was idle for too long.
            return
        finally:
            self._connections.discard(task)
            writer.close()

    def _refusal_reason(self, connection: socket.socket) -> CultureError | None:
        if not _is_peer_allowed(connection):
            return NotAllowedError("only the agent's own user and root may use its socket")
        if len(self._connections) > MAX_CONNECTIONS:
            return TemporaryError(f"the agent already has {MAX_CONNECTIONS} connections to its socket")
        return None

    async def _refuse_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, why: CultureError
    ) -> None:
        """Refuse in response to the first request, because clients read only responses."""
        if line := await self._read_with_timeout(_next_line(reader)):
            answer, _ = await _answer(line, _refuse(why))
            await self._write(writer, answer, is_for_agent=False)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reading = asyncio.ensure_future(_next_line(reader))
        answering: asyncio.Future[tuple[Json, bool]] | None = None
        try:
            while (line := await self._read_with_timeout(reading)) != b"":
                if line is None:
                    too_long = UsageError(f"a request is at most {MAX_LINE_BYTES} bytes long")
                    await self._write(writer, refusal(None, too_long), is_for_agent=False)
                    return
                # Reading ahead also detects that the client has hung up.
                reading = asyncio.ensure_future(_next_line(reader))
                handler = self._handler_for(caller_of(writer.get_extra_info("socket")))
                answering = asyncio.ensure_future(_answer(line, handler, self._proof))
                await asyncio.wait({reading, answering}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done() and reading.result() == b"" and _has_hung_up(writer):
                    return
                answer, is_for_agent = await answering
                try:
                    await self._write(writer, answer, is_for_agent=is_for_agent)
                except ConnectionError:
                    self._on_unsent(answer)
                    raise
        finally:
            for task in (reading, answering):
                if task is not None:
                    task.cancel()

    def _handler_for(self, caller: Caller) -> Handler:
        async def handle(request: Json) -> Json:
            if str(request.get("type")) in self._personal:
                request = {**request, "who": self._identify(caller)}
            return await self._handler(request)

        return handle

    async def _read_with_timeout(self, reading: Awaitable[bytes | None]) -> bytes | None:
        async with asyncio.timeout(self._idle_s):
            return await reading

    async def _write(self, writer: asyncio.StreamWriter, answer: Json, *, is_for_agent: bool) -> None:
        whispers = self._whispers.take() if is_for_agent else []
        try:
            for whisper in whispers:
                told = {"type": "whisper", "whisper_type": whisper.kind, "message": whisper.text}
                writer.write(encode(told))
            writer.write(encode(answer))
            await writer.drain()
        except ConnectionError:
            self._whispers.put_back(whispers)
            raise


async def _next_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next complete line; b"" at the end of the stream; None if the line is too long."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return b""
    except ValueError:
        return None
    return line if line.endswith(b"\n") else b""


async def _answer(line: bytes, handler: Handler, proof: str = "") -> tuple[Json, bool]:
    """Return the response, and whether the agent itself made the request and may read whispers."""
    request: Json = {}
    is_for_agent = False
    try:
        request = decode(line)
        is_for_agent = request.get("by") != PERSON and _is_proven(request.pop("proof", None), proof)
        data = await handler({**request, "by": AGENT if is_for_agent else PERSON})
        return response(request.get("id"), data), is_for_agent
    except CultureError as error:
        return refusal(request.get("id"), error), is_for_agent
    except Exception:
        # A bug in a handler fails this request only.
        log.exception("the request '%s' failed", request.get("type"))
        return refusal(request.get("id"), CultureError("internal error; see the journal")), False


def _is_proven(given: Any, proof: str) -> bool:
    return bool(proof) and isinstance(given, str) and hmac.compare_digest(given.encode(), proof.encode())


def _refuse(error: CultureError) -> Handler:
    async def refuse(request: Json) -> Json:
        raise error

    return refuse


def response(request_id: Any, data: Json) -> Json:
    """Return the response to a request that succeeded."""
    return {"type": "response", "id": request_id, "ok": True, "data": data}


def refusal(request_id: Any, error: CultureError) -> Json:
    """Return the response to a request that failed."""
    details = {"error": str(error), "hint": error.hint, "exit_status": error.exit_status}
    return {"type": "response", "id": request_id, "ok": False, **details}


def encode(message: Json) -> bytes:
    """Return a message as one line of JSON."""
    return json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n"


def decode(line: bytes) -> Json:
    """Parse a request; raise UsageError if the line is not a JSON object."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("the request is not valid JSON") from None
    if not isinstance(request, dict):
        raise UsageError("a request must be a JSON object")
    return request


def _is_peer_allowed(connection: socket.socket) -> bool:
    return caller_of(connection).uid in (0, os.geteuid())


def _has_hung_up(writer: asyncio.StreamWriter) -> bool:
    """Return whether the client closed its end. A client that only shut down writing still reads."""
    poll = select.poll()
    poll.register(writer.get_extra_info("socket").fileno(), 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
