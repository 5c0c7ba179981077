"""Speak JSON-RPC 2.0 with a program on its pipes, where both sides send requests."""

import asyncio
import itertools
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

Params = Mapping[str, Any]

# Section 5.1 of the specification.
METHOD_NOT_FOUND: Final = -32601


class RpcError(Exception):
    """A request was answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class DisconnectedError(Exception):
    """The program is gone; what it was asked will not be answered."""


class _Closed(Exception):
    """The program closed its end."""


class Framing(Protocol):
    """How messages are told apart in the stream."""

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        """Return the next message; empty at the end."""

    def frame(self, message: bytes) -> bytes: ...


class Lines:
    """Each message is one line."""

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        line = await reader.readline()
        return line if line.endswith(b"\n") else b""

    def frame(self, message: bytes) -> bytes:
        return message + b"\n"


class Headers:
    """Each message follows a header with its length, as in the Language Server Protocol."""

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        try:
            header = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)^content-length: *(\d+)", header, re.MULTILINE)
            return await reader.readexactly(int(length[1])) if length else b""
        except asyncio.IncompleteReadError:
            return b""

    def frame(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


class JsonRpcConnection:
    """A connection. `on_notice` is awaited for one notification at a time; `on_request` runs beside them.

    What `on_request` returns is the answer to the program, and so is an RpcError that it raises.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_notice: Callable[[str, Params], Awaitable[None]],
        on_request: Callable[[str, Params], Awaitable[Any]],
        framing: Framing | None = None,
    ) -> None:
        self._framing = framing or Lines()
        self._reader = reader
        self._writer = writer
        self._on_notice = on_notice
        self._on_request = on_request
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._is_closed = False

    async def run(self) -> None:
        """Read until the program closes its end. Without it no request is answered."""
        try:
            async with asyncio.TaskGroup() as answers:
                while True:
                    await self._received(await self._next(), answers)
        except* _Closed:
            # Answers that were still thought about went with the group.
            pass
        finally:
            self._close()

    async def request(self, method: str, params: Params) -> Any:
        if self._is_closed:
            raise DisconnectedError(method)
        number = next(self._ids)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        try:
            return await answer
        finally:
            self._asked.pop(number, None)

    def notify(self, method: str, params: Params) -> None:
        """Send a notification without waiting. It is lost if the program is gone."""
        self._send({"method": method, "params": params})

    async def _next(self) -> dict[str, Any]:
        """Return the next message and skip whatever is not one."""
        while True:
            try:
                data = await self._framing.read(self._reader)
            except (ValueError, asyncio.LimitOverrunError, ConnectionError):
                # Longer than the reader holds: what follows cannot be told from it.
                raise _Closed from None
            if not data:
                raise _Closed
            if (message := _decode(data)) is not None:
                return message

    async def _received(self, message: dict[str, Any], answers: asyncio.TaskGroup) -> None:
        params = message.get("params") or {}
        match message:
            case {"method": str(method), "id": int() | str() as number}:
                answers.create_task(self._answer(number, method, params))
            case {"method": str(method)}:
                await self._on_notice(method, params)
            case {"id": int(number)}:
                self._answered(number, message)

    async def _answer(self, number: int | str, method: str, params: Params) -> None:
        try:
            self._send({"id": number, "result": await self._on_request(method, params)})
        except RpcError as error:
            self._send({"id": number, "error": {"code": error.code, "message": str(error)}})

    def _answered(self, number: int, message: dict[str, Any]) -> None:
        answer = self._asked.pop(number, None)
        if answer is None or answer.done():
            return
        match message.get("error"):
            case None:
                answer.set_result(message.get("result"))
            case {"code": int(code), "message": str(words), **rest}:
                answer.set_exception(RpcError(code, words, rest.get("data")))
            case other:
                answer.set_exception(RpcError(0, json.dumps(other)))

    def _send(self, message: dict[str, Any]) -> None:
        if not self._is_closed:
            text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
            # Half a surrogate pair is not UTF-8, and would be the end of the whole connection.
            self._writer.write(self._framing.frame(text.encode(errors="replace")))

    def _close(self) -> None:
        self._is_closed = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(DisconnectedError())
        self._asked.clear()


def _decode(data: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
