"""The verbs of irc as tools for an agent that speaks MCP: JSON-RPC, a line each, on two pipes.

The part of the Model Context Protocol that a server with tools and nothing else needs: initialize, ping,
tools/list, tools/call and the cancellation of a call.
"""

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from culture import __version__
from culture.agent.skill.calling import call, own_proof
from culture.agent.skill.showing import SHOW
from culture.agent.skill.verbs import VERBS, complete
from culture.errors import CultureError

# All of them have these methods in this form; the newest is what we offer to who names another.
VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_TOOLS: Final = {verb.request: verb for verb in VERBS.values()}
# JSON-RPC 2.0, section 5.1
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602

Json = dict[str, Any]


def serve(agent: Path, requests: BinaryIO, answers: BinaryIO) -> None:
    """Until the requests end, and with them what still waits for an answer."""
    server = _Server(agent, answers)
    for line in requests:
        server.received(line)
    server.stop()


class _RpcError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Call:
    """One call of a tool, in a thread of its own: a question may wait for minutes."""

    def __init__(self, agent: Path, name: str, arguments: Json) -> None:
        self._agent = agent
        self._name = name
        self._arguments = arguments
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self.is_cancelled = False

    def run(self) -> Json:
        whispers: list[str] = []
        try:
            given = complete(_TOOLS[self._name], self._arguments)
            request = {"type": self._name, **given, **own_proof(os.environ)}
            data = call(self._agent, request, whispers.append, self._connected)
            text, is_error = str(SHOW[self._name](data)), False
        except CultureError as error:
            text, is_error = error.with_hint, True
        return {"content": [{"type": "text", "text": "\n".join([*whispers, text])}], "isError": is_error}

    def cancel(self) -> None:
        """The daemon gives up a call whose caller has left."""
        with self._lock:
            self.is_cancelled = True
            if self._connection is not None:
                _shut_down(self._connection)

    def _connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connection = connection
            if self.is_cancelled:
                _shut_down(connection)


def _shut_down(connection: socket.socket) -> None:
    # It may have ended by itself.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Server:
    def __init__(self, agent: Path, answers: BinaryIO) -> None:
        self._agent = agent
        self._answers = answers
        self._writing = threading.Lock()
        self._calls: dict[str | int, _Call] = {}

    def received(self, line: bytes) -> None:
        request_id = None
        try:
            message = _parse(line)
            request_id = message.get("id")
            self._dispatch(request_id, message.get("method"), message.get("params"))
        except _RpcError as error:
            self._write({"id": request_id, "error": {"code": error.code, "message": str(error)}})

    def stop(self) -> None:
        for each in list(self._calls.values()):
            each.cancel()

    def _dispatch(self, request_id: Any, method: Any, params: Any) -> None:
        params = params if isinstance(params, dict) else {}
        match method:
            case "notifications/cancelled":
                self._cancel(params.get("requestId"))
            case _ if request_id is None:
                # Of the other notifications none asks for anything.
                return
            case "initialize":
                self._write({"id": request_id, "result": _hello(params)})
            case "ping":
                self._write({"id": request_id, "result": {}})
            case "tools/list":
                self._write({"id": request_id, "result": {"tools": _listed()}})
            case "tools/call":
                self._call(request_id, str(params.get("name")), params.get("arguments") or {})
            case _:
                raise _RpcError(_NO_METHOD, f"no method '{method}'")

    def _call(self, request_id: str | int, name: str, arguments: Any) -> None:
        if name not in _TOOLS or not isinstance(arguments, dict):
            raise _RpcError(_INVALID_PARAMS, f"no tool '{name}', or its arguments are no object")
        called = self._calls[request_id] = _Call(self._agent, name, arguments)
        # The end of the program does not wait for it.
        threading.Thread(target=self._run, args=(request_id, called), daemon=True).start()

    def _run(self, request_id: str | int, called: _Call) -> None:
        result = called.run()
        self._calls.pop(request_id, None)
        if not called.is_cancelled:
            self._write({"id": request_id, "result": result})

    def _cancel(self, request_id: Any) -> None:
        called = self._calls.get(request_id) if isinstance(request_id, str | int) else None
        if called is not None:
            called.cancel()

    def _write(self, message: Json) -> None:
        with self._writing, suppress(BrokenPipeError):
            text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
            self._answers.write(text.encode(errors="replace") + b"\n")
            self._answers.flush()


def _parse(line: bytes) -> Json:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise _RpcError(_PARSE_ERROR, "this is no JSON") from None
    if not isinstance(message, dict):
        raise _RpcError(_INVALID_REQUEST, "a message is a JSON object")
    if not isinstance(message.get("id"), str | int | None):
        raise _RpcError(_INVALID_REQUEST, "an id is a string or a number")
    return message


def _hello(params: Json) -> Json:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "irc", "version": __version__},
    }


def _listed() -> list[Json]:
    return [
        {"name": name, "description": verb.about, "inputSchema": verb.schema} for name, verb in _TOOLS.items()
    ]
