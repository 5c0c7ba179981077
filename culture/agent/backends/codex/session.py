"""A session with codex: a thread of its app-server, and the turns in it.

`codex app-server generate-json-schema` writes the schema of what is said here.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

from culture.agent.backend.permission import decide
from culture.agent.backends.codex import items, settings
from culture.agent.backends.codex.rate_limits import rate_limits
from culture.agent.backends.jsonrpc import (
    METHOD_NOT_FOUND,
    DisconnectedError,
    JsonRpcConnection,
    Params,
    RpcError,
)
from culture.agent.backends.jsonrpc_runner import NoSuchSessionError, Tell
from culture.agent.backends.program import Program
from culture.agent.contract import (
    Assistant,
    Block,
    ContextChanged,
    Effort,
    PermissionRequest,
    Result,
    SessionSpec,
    Tool,
    Usage,
    UsageReport,
)
from culture.errors import CultureError, UnavailableError

# How long codex may take to let go of a turn.
CANCEL_S: Final = 10.0
_CLIENT: Final = {"name": "culture", "title": "Culture", "version": "1"}


class CodexSession:
    """One thread. A toolless one only answers; it is new, or the fork of the thread that is to be resumed."""

    def __init__(self, program: Program, spec: SessionSpec, tell: Tell, *, toolless: bool = False) -> None:
        self._rpc = JsonRpcConnection(program.reader, program.writer, self._noticed, self._asked)
        self._spec = spec
        self._tools: dict[str, Tool] = {tool.name: tool for tool in spec.tools}
        self._tell = tell
        self._toolless = toolless
        self.id = ""
        self._model = ""
        # What the thread used in all turns whose results were reported; None if it is not known.
        self._reported: Usage | None = None
        # The turn that runs: what it has used, and how it ended.
        self._turn = items.CodexTurn(None)
        self._turn_id = ""
        self._ended: asyncio.Future[Mapping[str, Any]] | None = None
        self._deadline: asyncio.Timeout | None = None
        self._is_cancelled = False
        self._is_compacting = False
        # Changes to files that are about to be made, by the id of their item.
        self._changes: dict[str, Any] = {}
        self._beside: asyncio.TaskGroup | None = None

    async def listen(self) -> None:
        async with asyncio.TaskGroup() as self._beside:
            await self._rpc.run()

    async def open(self, resume: str) -> None:
        # Tools of the daemon, and the end of what a turn left running, are not in the stable part.
        offers = {"experimentalApi": True}
        told = await self._rpc.request("initialize", {"clientInfo": _CLIENT, "capabilities": offers})
        settings.check_version(told["userAgent"])
        self._rpc.notify("initialized", {})
        await self._check_login()
        if self._toolless:
            await self._begin_toolless(resume)
        elif not (resume and await self._go_on(resume)):
            await self._begin()

    async def prompt(self, text: str, effort: Effort | None) -> Result:
        given = {"input": [{"type": "text", "text": text}], **settings.turn(effort or self._spec.thinking)}
        if self._toolless:
            # Without an environment there is nothing that a tool could work on.
            given["environments"] = []
        turn, ended = await self._run("turn/start", given)
        self._reported = turn.total
        return turn.result(ended)

    async def compact(self) -> ContextChanged:
        self._is_compacting = True
        try:
            _, ended = await self._run("thread/compact/start", {})
        finally:
            self._is_compacting = False
        return ContextChanged("compacted", items.error_of(ended))

    async def clear(self) -> ContextChanged:
        old = self.id
        try:
            await self._begin()
            await self._rpc.request("thread/unsubscribe", {"threadId": old})
        except RpcError as failure:
            return ContextChanged("cleared", str(failure))
        return ContextChanged("cleared")

    def cancel(self) -> None:
        if self._ended is None or self._beside is None:
            return
        self._is_cancelled = True
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + CANCEL_S)
        if self._turn_id:
            self._beside.create_task(self._interrupt())

    async def _check_login(self) -> None:
        """Raise UnavailableError without a login: codex would ask the API, and be refused, many times."""
        told = await self._rpc.request("account/read", {"refreshToken": False})
        if told["requiresOpenaiAuth"] and told["account"] is None:
            hint = f"log in, or set key_credential, a key for {settings.KEY}"
            raise UnavailableError("codex is not logged in, and has no key", hint=hint)

    async def _begin(self) -> None:
        given = {**settings.thread(self._spec), **settings.dynamic_tools(self._spec)}
        self._opened(await self._rpc.request("thread/start", given))
        self._reported = Usage()

    async def _begin_toolless(self, fork_of: str) -> None:
        given = settings.toolless_thread(self._spec)
        if not fork_of:
            own = {"baseInstructions": self._spec.briefing, "environments": []}
            self._opened(await self._rpc.request("thread/start", {**given, **own}))
            self._reported = Usage()
            return
        try:
            fork = {"threadId": fork_of, "excludeTurns": True}
            self._opened(await self._rpc.request("thread/fork", {**given, **fork}))
        except RpcError as failure:
            raise NoSuchSessionError(f"codex cannot fork the thread '{fork_of}': {failure}") from None

    async def _go_on(self, resume: str) -> bool:
        given = {"threadId": resume, "excludeTurns": True, **settings.thread(self._spec)}
        try:
            self._opened(await self._rpc.request("thread/resume", given))
        except RpcError:
            return False
        return True

    def _opened(self, answer: Mapping[str, Any]) -> None:
        self.id, self._model = answer["thread"]["id"], answer["model"]

    async def _run(self, method: str, given: Params) -> tuple[items.CodexTurn, Mapping[str, Any]]:
        """Run a turn to its end. Raise TimeoutError if codex does not end one that was cancelled."""
        self._turn, self._turn_id, self._is_cancelled = items.CodexTurn(self._reported), "", False
        self._ended = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(None) as self._deadline:
                await self._rpc.request(method, {"threadId": self.id, **given})
                ended = await self._ended
        except RpcError as failure:
            ended = {"status": "failed", "error": {"message": str(failure)}}
        finally:
            self._ended = self._deadline = None
        if self._is_cancelled:
            await self._end_tools()
        return self._turn, ended

    async def _interrupt(self) -> None:
        # It may just have ended by itself, or codex with it.
        with contextlib.suppress(RpcError, DisconnectedError):
            await self._rpc.request("turn/interrupt", {"threadId": self.id, "turnId": self._turn_id})

    async def _end_tools(self) -> None:
        """End the commands of an interrupted turn, which would go on."""
        with contextlib.suppress(RpcError):
            await self._rpc.request("thread/backgroundTerminals/clean", {"threadId": self.id})

    # What codex reports

    async def _noticed(self, method: str, params: Params) -> None:
        if method == "account/rateLimits/updated":
            for limit in rate_limits(params["rateLimits"]):
                await self._tell(limit)
        if params.get("threadId") != self.id:
            return
        match method:
            case "turn/started":
                self._turn_began(params["turn"]["id"])
            case "turn/completed":
                await self._turn_ended(params["turn"])
            case "thread/tokenUsage/updated" if params["turnId"] == self._turn_id:
                self._turn.used(params["tokenUsage"])
                if not self._is_compacting:
                    await self._tell(UsageReport(self._turn.usage))
            case "item/started":
                if params["item"]["type"] == "fileChange":
                    self._changes[params["item"]["id"]] = params["item"]["changes"]
                await self._say(items.begun(params["item"]))
            case "item/completed":
                self._changes.pop(params["item"]["id"], None)
                await self._say(items.completed(params["item"]))
                if (result := items.returned(params["item"])) is not None:
                    await self._tell(result)

    async def _say(self, block: Block | None) -> None:
        if block is not None:
            await self._tell(Assistant(self._model, (block,)))

    def _turn_began(self, id: str) -> None:
        self._turn_id = id
        if self._ended is None:
            # It began by itself, and has used nothing yet.
            self._turn = items.CodexTurn(self._reported)
        elif self._is_cancelled:
            self.cancel()

    async def _turn_ended(self, turn: Mapping[str, Any]) -> None:
        if self._ended is None:
            self._reported = self._turn.total
            await self._tell(self._turn.result(turn, asked=False))
        elif not self._ended.done():
            self._ended.set_result(turn)

    # What codex asks

    async def _asked(self, method: str, params: Params) -> Any:
        match method:
            case "item/commandExecution/requestApproval":
                return await self._decision(items.command_request(params))
            case "item/fileChange/requestApproval":
                id = params["itemId"]
                given = {"changes": self._changes.get(id, [])}
                return await self._decision(PermissionRequest(items.PATCH, "", given, id))
            case "mcpServer/elicitation/request" if items.is_tool_of_a_server(params):
                decision = await self._decision(items.server_request(params))
                return {"action": decision["decision"], "content": {}}
            case "item/tool/call":
                return await self._run_tool(params["tool"], params["arguments"])
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"nobody here answers {method}")

    async def _decision(self, request: PermissionRequest) -> dict[str, str]:
        allowed, reason = await decide(self._spec.judge, request)
        if not allowed:
            await self._explain(reason)
        return {"decision": "accept" if allowed else "decline"}

    async def _explain(self, reason: str) -> None:
        """Tell the model why a call was refused: as a message of the user, since a refusal has no text."""
        said = [{"type": "text", "text": reason}]
        with contextlib.suppress(RpcError):
            about = {"threadId": self.id, "expectedTurnId": self._turn_id}
            await self._rpc.request("turn/steer", {**about, "input": said})

    async def _run_tool(self, name: str, arguments: Any) -> dict[str, Any]:
        tool, given = self._tools.get(name), arguments if isinstance(arguments, dict) else {}
        if tool is None:
            return _tool_said(f"there is no tool '{name}'", success=False)
        allowed, reason = await decide(self._spec.judge, PermissionRequest(name, "", given))
        if not allowed:
            return _tool_said(reason, success=False)
        try:
            return _tool_said(await tool.run(given), success=True)
        except CultureError as error:
            return _tool_said(error.with_hint, success=False)


def _tool_said(text: str, *, success: bool) -> dict[str, Any]:
    return {"contentItems": [{"type": "inputText", "text": text}], "success": success}
