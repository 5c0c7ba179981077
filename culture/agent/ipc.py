"""The agent's own socket, for its skill: JSON lines, each request answered under its id."""

import asyncio
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Final

from culture.errors import CultureError, NotAllowedError, UsageError

LINE_BYTES: Final = 256 * 1024

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class IpcServer:
    """Answers whoever has our own user id, and root."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_unix_server(self._accepted, sock=listener, limit=LINE_BYTES)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            may_ask = _may_ask(writer.get_extra_info("socket"))
            await _converse(reader, writer, self._handler if may_ask else _not_allowed)
        except ConnectionError:
            # Whoever asked did not wait for the answer.
            return
        finally:
            self._clients.discard(task)
            writer.close()


async def _converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            too_long = UsageError(f"a request is at most {LINE_BYTES} bytes long")
            writer.write(encode(refusal(None, too_long)))
            return await writer.drain()
        if not line.endswith(b"\n"):
            return None
        writer.write(encode(await _answer(line, handler)))
        await writer.drain()


async def _answer(line: bytes, handler: Handler) -> dict[str, Any]:
    request_id = None
    try:
        request = decode(line)
        request_id = request.get("id")
        return response(request_id, await handler(request))
    except CultureError as error:
        return refusal(request_id, error)


async def _not_allowed(request: dict[str, Any]) -> dict[str, Any]:
    raise NotAllowedError("an agent answers its own user and root only")


def response(request_id: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response", "id": request_id, "ok": True, "data": data}


def refusal(request_id: Any, error: CultureError) -> dict[str, Any]:
    told = {"error": str(error), "hint": error.hint, "exit_status": error.exit_status}
    return {"type": "response", "id": request_id, "ok": False, **told}


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
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
