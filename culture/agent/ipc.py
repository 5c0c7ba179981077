"""The agent's own socket, for its skill: JSON lines, each request answered under its id."""

import asyncio
import json
import logging
import os
import select
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Final

from culture.agent.whispers import Whispers
from culture.errors import CultureError, NotAllowedError, TemporaryError, UsageError

log = logging.getLogger(__name__)

LINE_BYTES: Final = 256 * 1024
MOST_CALLS: Final = 64
"""Connections at a time. A call is short, but for a question, and an agent asks few of these at once."""
IDLE_S: Final = 60.0
"""How long a connection may say nothing while nothing is asked."""

PERSON: Final = "person"
"""What a request says under `by` if it is not the agent's own."""

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[Json]]


class IpcServer:
    """Answers whoever has our own user id, and root. Whispers go out in front of an answer."""

    def __init__(self, handler: Handler, whispers: Whispers, idle_s: float = IDLE_S) -> None:
        self._handler = handler
        self._whispers = whispers
        self._idle_s = idle_s
        self._server: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_unix_server(self._accepted, sock=listener, limit=LINE_BYTES)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            objection = self._objection(writer.get_extra_info("socket"))
            if objection is None:
                await self._converse(reader, writer)
            else:
                await self._turn_away(reader, writer, objection)
        except (ConnectionError, TimeoutError):
            # Whoever asked did not wait for the answer, or never asked.
            return
        finally:
            self._calls.discard(task)
            writer.close()

    def _objection(self, connection: socket.socket) -> CultureError | None:
        if not _may_ask(connection):
            return NotAllowedError("an agent answers its own user and root only")
        if len(self._calls) > MOST_CALLS:
            return TemporaryError(f"the agent is being asked {MOST_CALLS} things already")
        return None

    async def _turn_away(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, why: CultureError
    ) -> None:
        """In answer to the first request, so that whoever waits for it reads why."""
        if line := await self._in_time(_next_line(reader)):
            answer, _ = await _answer(line, _refuse(why))
            await self._write(writer, answer, is_for_agent=False)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reading = asyncio.ensure_future(_next_line(reader))
        answering: asyncio.Future[tuple[Json, bool]] | None = None
        try:
            while (line := await self._in_time(reading)) != b"":
                if line is None:
                    too_long = UsageError(f"a request is at most {LINE_BYTES} bytes long")
                    await self._write(writer, refusal(None, too_long), is_for_agent=False)
                    return
                # Also how it is noticed that nobody waits for the answer any more.
                reading = asyncio.ensure_future(_next_line(reader))
                answering = asyncio.ensure_future(_answer(line, self._handler))
                await asyncio.wait({reading, answering}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done() and reading.result() == b"" and _has_left(writer):
                    return
                answer, is_for_agent = await answering
                await self._write(writer, answer, is_for_agent=is_for_agent)
        finally:
            for task in (reading, answering):
                if task is not None:
                    task.cancel()

    async def _in_time(self, reading: Awaitable[bytes | None]) -> bytes | None:
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
    """A whole request; nothing at the end, also if half a one stands there. None: it is too long."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return b""
    except ValueError:
        return None
    return line if line.endswith(b"\n") else b""


async def _answer(line: bytes, handler: Handler) -> tuple[Json, bool]:
    """The answer, and whether the agent itself asked: whispers are for no one else."""
    request: Json = {}
    try:
        request = decode(line)
        data = await handler(request)
        return response(request.get("id"), data), request.get("by") != PERSON
    except CultureError as error:
        return refusal(request.get("id"), error), request.get("by") != PERSON
    except Exception:
        # One call is given up; the agent, and who else asks it, go on.
        log.exception("the request '%s' failed", request.get("type"))
        return refusal(request.get("id"), CultureError("a bug of ours; the journal has it")), False


def _refuse(error: CultureError) -> Handler:
    async def refuse(request: Json) -> Json:
        raise error

    return refuse


def response(request_id: Any, data: Json) -> Json:
    return {"type": "response", "id": request_id, "ok": True, "data": data}


def refusal(request_id: Any, error: CultureError) -> Json:
    told = {"error": str(error), "hint": error.hint, "exit_status": error.exit_status}
    return {"type": "response", "id": request_id, "ok": False, **told}


def encode(message: Json) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n"


def decode(line: bytes) -> Json:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("a request is a line of JSON, and this is not") from None
    if not isinstance(request, dict):
        raise UsageError("a request is a JSON object")
    return request


def _may_ask(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return uid in (0, os.geteuid())


def _has_left(writer: asyncio.StreamWriter) -> bool:
    """Whether the other end is gone. One that only has nothing more to ask still reads."""
    poll = select.poll()
    poll.register(writer.get_extra_info("socket").fileno(), 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
