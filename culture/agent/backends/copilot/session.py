"""A session with the CLI, in the protocol of its own SDKs (github.com/github/copilot-sdk)."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Coroutine
from typing import Any, Final

from culture.agent.backend.permission import decide
from culture.agent.backends.copilot import events
from culture.agent.backends.jsonrpc import (
    METHOD_NOT_FOUND,
    DisconnectedError,
    Headers,
    JsonRpcConnection,
    Params,
    RpcError,
)
from culture.agent.backends.jsonrpc_runner import Tell
from culture.agent.backends.program import Program
from culture.agent.contract import ContextChanged, Effort, Result, SessionSpec, Tool
from culture.errors import CultureError, UnavailableError

PROTOCOL: Final = 3
# How long the CLI may take to let go of a turn.
CANCEL_S: Final = 10.0


class CopilotSession:
    """One session. `settings` are those of `make_settings`; `tell` receives what the agent does."""

    def __init__(self, program: Program, spec: SessionSpec, settings: dict[str, Any], tell: Tell) -> None:
        self._rpc = JsonRpcConnection(program.reader, program.writer, self._noticed, self._asked, Headers())
        self._judge = spec.judge
        self._tools: dict[str, Tool] = {tool.name: tool for tool in spec.tools}
        self._settings = settings
        self._tell = tell
        self.id = ""
        self._context: float | None = None
        self._turn = events.CopilotTurn()
        self._is_idle = asyncio.Event()
        # That of the turn that we asked for, while it runs.
        self._deadline: asyncio.Timeout | None = None
        self._answers: asyncio.TaskGroup | None = None

    async def listen(self) -> None:
        async with asyncio.TaskGroup() as self._answers:
            await self._rpc.run()

    async def open(self, resume: str) -> None:
        spoken = (await self._rpc.request("connect", {})).get("protocolVersion")
        if spoken != PROTOCOL:
            raise UnavailableError(
                f"copilot speaks version {spoken} of its protocol, and version {PROTOCOL} is needed",
                hint="npm install -g @github/copilot@1",
            )
        if not (resume and await self._go_on(resume)):
            await self._begin()

    async def prompt(self, text: str, effort: Effort | None) -> Result:
        began = time.monotonic()
        self._turn = events.CopilotTurn()
        self._is_idle.clear()
        try:
            async with asyncio.timeout(None) as self._deadline:
                await self._rpc.request("session.send", {"sessionId": self.id, "prompt": text})
                await self._is_idle.wait()
        except RpcError as failure:
            self._turn.error = str(failure)
        finally:
            self._deadline = None
        turn, self._turn = self._turn, events.CopilotTurn()
        return turn.result(round((time.monotonic() - began) * 1000), self._context)

    def cancel(self) -> None:
        if self._deadline is not None and self._answers is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + CANCEL_S)
            self._answers.create_task(self._request("session.abort"))

    async def compact(self) -> ContextChanged:
        try:
            await self._rpc.request("session.history.compact", {"sessionId": self.id})
        except RpcError as failure:
            return ContextChanged("compacted", str(failure))
        return ContextChanged("compacted")

    async def clear(self) -> ContextChanged:
        old = self.id
        try:
            await self._begin()
            await self._rpc.request("session.detach", {"sessionId": old})
        except RpcError as failure:
            return ContextChanged("cleared", str(failure))
        return ContextChanged("cleared")

    async def _go_on(self, resume: str) -> bool:
        self.id = resume
        try:
            await self._rpc.request("session.resume", {"sessionId": resume, **self._settings})
        except RpcError:
            return False
        return True

    async def _begin(self) -> None:
        # What a session reports while it is made is already ours.
        self.id = str(uuid.uuid4())
        await self._rpc.request("session.create", {"sessionId": self.id, **self._settings})

    # What the CLI reports, and asks

    async def _noticed(self, method: str, params: Params) -> None:
        if method != "session.event" or params.get("sessionId") != self.id:
            return
        kind, data = str(params["event"].get("type")), params["event"].get("data") or {}
        for message in self._turn.add(kind, data):
            await self._tell(message)
        match kind:
            case "session.usage_info":
                self._context = events.context_of(data)
            case "model.call_failure":
                if self._turn.is_hopeless:
                    self._answer(self._request("session.abort"))
            case "session.idle":
                await self._became_idle()
            case "permission.requested":
                self._answer(self._permit(data))
            case "external_tool.requested":
                self._answer(self._run_tool(data))

    async def _became_idle(self) -> None:
        self._is_idle.set()
        if self._deadline is None and self._turn.has_begun:
            # It began by itself, such as when a command in the background ended.
            turn, self._turn = self._turn, events.CopilotTurn()
            await self._tell(turn.result(0, self._context, asked=False))

    def _answer(self, answer: Coroutine[Any, Any, None]) -> None:
        """Answer the CLI while reading goes on: a person may take days to decide."""
        assert self._answers is not None
        self._answers.create_task(answer)

    async def _permit(self, data: Params) -> None:
        allowed, reason = await decide(self._judge, events.request_of(data["permissionRequest"]))
        verdict = {"kind": "approve-once"} if allowed else {"kind": "reject", "feedback": reason}
        method = "session.permissions.handlePendingPermissionRequest"
        await self._request(method, {"requestId": data["requestId"], "result": verdict})

    async def _run_tool(self, data: Params) -> None:
        tool = self._tools.get(data["toolName"])
        if tool is None:
            # Another program's, on the same session.
            return
        try:
            kind, text = "success", await tool.run(data.get("arguments") or {})
        except CultureError as error:
            kind, text = "failure", error.with_hint
        result = {"textResultForLlm": text, "resultType": kind, "toolTelemetry": {}}
        method = "session.tools.handlePendingToolCall"
        await self._request(method, {"requestId": data["requestId"], "result": result})

    async def _request(self, method: str, params: Params | None = None) -> None:
        """Send a request whose failure does not matter: later events say what came of it."""
        with contextlib.suppress(RpcError, DisconnectedError):
            await self._rpc.request(method, {"sessionId": self.id, **(params or {})})

    async def _asked(self, method: str, params: Params) -> Any:
        raise RpcError(METHOD_NOT_FOUND, f"culture does not offer {method}")
