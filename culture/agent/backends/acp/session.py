"""A session with an agent over ACP: begin or resume it, run turns, compact and clear it."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from culture import __version__
from culture.agent.backend.permission import decide
from culture.agent.backends import wording
from culture.agent.backends.acp import figures, permission, tools
from culture.agent.backends.acp.choices import choices, model_of
from culture.agent.backends.acp.profiles import Agent
from culture.agent.backends.acp.transcript import AcpTranscript
from culture.agent.backends.jsonrpc import (
    METHOD_NOT_FOUND,
    DisconnectedError,
    JsonRpcConnection,
    Params,
    RpcError,
)
from culture.agent.backends.jsonrpc_runner import Tell
from culture.agent.backends.program import Program
from culture.agent.contract import ContextChanged, Effort, Result, SessionSpec, Usage, UsageReport
from culture.errors import UnavailableError

PROTOCOL: Final = 1
# How long an agent may take to let go of a turn.
CANCEL_S: Final = 10.0
# agentclientprotocol.com, schema, ErrorCode.
_AUTH_REQUIRED: Final = -32000
_STATUS: Final = re.compile(r"\b(?:API Error|HTTP|status)\b\D{0,40}([45]\d\d)\b", re.IGNORECASE)
_STOPPED: Final = {
    "end_turn": "",
    "cancelled": wording.INTERRUPTED,
    "max_tokens": "the reply was cut off: the model gives no more tokens",
    "max_turn_requests": "the agent asked the model as often as it may in one turn",
    "refusal": "the model refuses to answer",
}


class AcpSession:
    """One session. `tell` receives what the agent does in a turn."""

    def __init__(self, program: Program, agent: Agent, spec: SessionSpec, tell: Tell) -> None:
        self._rpc = JsonRpcConnection(program.reader, program.writer, self._noticed, self._asked)
        self._agent = agent
        self._spec = spec
        self._servers = tools.servers(spec, program.mark)
        self._tell = tell
        self.id = ""
        self._can: Mapping[str, Any] = {}
        self._model = ""
        self._commands: set[str] = set()
        self._is_briefed = False
        self._figures = figures.Figures(0.0)
        # Those of the running turn.
        self._transcript: AcpTranscript | None = None
        self._deadline: asyncio.Timeout | None = None
        self._is_cancelled = False
        self._verdicts: set[asyncio.Future[tuple[bool, str]]] = set()

    async def listen(self) -> None:
        await self._rpc.run()

    async def open(self, resume: str) -> None:
        us = {"name": "culture", "version": __version__}
        answer = await self._rpc.request(
            "initialize", {"protocolVersion": PROTOCOL, "clientCapabilities": {}, "clientInfo": us}
        )
        if answer.get("protocolVersion") != PROTOCOL:
            raise UnavailableError(f"{self._agent.name} does not speak version {PROTOCOL} of ACP")
        self._agent.check(str((answer.get("agentInfo") or {}).get("version", "")))
        self._can = answer.get("agentCapabilities") or {}
        if not (resume and await self._go_on(resume)):
            await self._begin(answer.get("authMethods") or [])

    async def prompt(self, text: str, effort: Effort | None) -> Result:
        began = time.monotonic()
        self._figures.begin_turn()
        error, status, used = "", None, None
        try:
            answer = await self._take_turn(self._blocks(text), AcpTranscript(self._model))
            reason = str(answer.get("stopReason"))
            error, used = _STOPPED.get(reason, f"the agent stopped: {reason}"), answer.get("usage")
        except RpcError as failure:
            error, status = str(failure), _status_of(failure)
        if self._is_cancelled:
            # Some agents tell it as any other end.
            error, status = wording.INTERRUPTED, None
        return wording.result(
            error,
            status=status,
            cost_usd=self._figures.turn_usd,
            duration_ms=round((time.monotonic() - began) * 1000),
            usage=figures.usage(used),
            context=self._figures.context,
        )

    def cancel(self) -> None:
        if self._deadline is None:
            return
        self._is_cancelled = True
        self._rpc.notify("session/cancel", {"sessionId": self.id})
        for verdict in self._verdicts:
            verdict.cancel()
        self._deadline.reschedule(asyncio.get_running_loop().time() + CANCEL_S)

    async def compact(self) -> ContextChanged:
        command = self._agent.compact or ("/compact" if "compact" in self._commands else "")
        if not command:
            return ContextChanged("compacted", f"{self._agent.name} has no command to sum up its context")
        try:
            async with self._commanding():
                await self._take_turn([_text(command)], None)
        except RpcError as failure:
            return ContextChanged("compacted", str(failure))
        # The summary may have left it out.
        self._is_briefed = self._agent.setup.is_briefed
        return ContextChanged("compacted", wording.INTERRUPTED if self._is_cancelled else "")

    async def clear(self) -> ContextChanged:
        old = self.id
        try:
            await self._begin([])
            if "close" in (self._can.get("sessionCapabilities") or {}):
                await self._rpc.request("session/close", {"sessionId": old})
        except (RpcError, UnavailableError) as failure:
            return ContextChanged("cleared", str(failure))
        return ContextChanged("cleared")

    @contextlib.asynccontextmanager
    async def _commanding(self) -> AsyncIterator[None]:
        """Let the agent run a command while this context lasts."""
        setup = self._agent.setup
        if setup.commanding_meta is None:
            yield
            return
        await self._attach("session/resume", self.id, setup.commanding_meta)
        try:
            yield
        finally:
            try:
                async with asyncio.timeout(CANCEL_S):
                    await self._attach("session/resume", self.id, setup.meta)
            except RpcError as failure:
                # It would run what somebody says on IRC: it has to go.
                raise DisconnectedError(str(failure)) from None

    # How a conversation begins

    async def _go_on(self, resume: str) -> bool:
        if "resume" in (self._can.get("sessionCapabilities") or {}):
            method = "session/resume"
        elif self._can.get("loadSession"):
            # Repeats all that was said, outside of any turn.
            method = "session/load"
        else:
            return False
        try:
            await self._attach(method, resume, self._agent.setup.meta)
        except RpcError:
            return False
        self._figures = figures.Figures(None)
        return True

    async def _attach(self, method: str, session_id: str, meta: Mapping[str, Any]) -> None:
        self.id = session_id
        answer = await self._rpc.request(method, {"sessionId": session_id, **self._place(meta)})
        await self._choose(answer or {})

    async def _begin(self, logins: Sequence[Mapping[str, Any]]) -> None:
        try:
            answer = await self._rpc.request("session/new", self._place(self._agent.setup.meta))
        except RpcError as failure:
            if failure.code != _AUTH_REQUIRED:
                raise
            hint = "; ".join(str(login.get("description") or login.get("name")) for login in logins)
            raise UnavailableError(f"{self._agent.name} is not logged in", hint=hint or None) from None
        self.id = str(answer["sessionId"])
        self._figures = figures.Figures(0.0)
        self._is_briefed = self._agent.setup.is_briefed
        await self._choose(answer)

    def _place(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        place = {"cwd": str(self._spec.directory), "mcpServers": self._servers}
        return {**place, "_meta": meta} if meta else place

    async def _choose(self, answer: Mapping[str, Any]) -> None:
        self._model = self._spec.model or model_of(answer)
        for choice in choices(answer, self._spec.model, self._spec.thinking, self._agent.setup.mode):
            try:
                await self._rpc.request(choice.method, {"sessionId": self.id, **choice.params})
            except RpcError as failure:
                raise UnavailableError(
                    f"{self._agent.name} does not take the {choice.what} '{choice.value}': {failure}",
                    hint=f"it offers: {', '.join(choice.offered[:10])}" if choice.offered else None,
                ) from None

    # What goes on in a turn

    def _blocks(self, text: str) -> list[dict[str, str]]:
        before = [] if self._is_briefed else [_text(self._spec.briefing)]
        self._is_briefed = True
        return [*before, _text(self._agent.setup.neutral(text))]

    async def _take_turn(
        self, blocks: Sequence[Mapping[str, str]], transcript: AcpTranscript | None
    ) -> Mapping[str, Any]:
        self._transcript, self._is_cancelled = transcript, False
        try:
            async with asyncio.timeout(None) as self._deadline:
                asked = {"sessionId": self.id, "prompt": blocks}
                answer: Mapping[str, Any] = await self._rpc.request("session/prompt", asked)
                return answer
        finally:
            self._transcript = self._deadline = None
            for message in transcript.rest() if transcript is not None else ():
                await self._tell(message)

    async def _noticed(self, method: str, params: Params) -> None:
        if method != "session/update" or params.get("sessionId") != self.id:
            return
        update = params["update"]
        match update.get("sessionUpdate"):
            case "available_commands_update":
                self._commands = {each["name"] for each in update.get("availableCommands") or []}
            case "usage_update":
                self._figures.update(update)
                if self._transcript is not None and (cost_usd := self._figures.turn_usd) is not None:
                    # The tokens of a turn come only with its end.
                    await self._tell(UsageReport(Usage(), cost_usd))
        for message in self._transcript.add(update) if self._transcript is not None else ():
            await self._tell(message)

    async def _asked(self, method: str, params: Params) -> Any:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"culture does not offer {method}")
        if self._is_cancelled:
            return permission.CANCELLED
        known = self._transcript.call(params["toolCall"]["toolCallId"]) if self._transcript else None
        verdict = asyncio.ensure_future(decide(self._spec.judge, permission.request_of(params, known)))
        self._verdicts.add(verdict)
        try:
            await asyncio.wait([verdict])
        finally:
            verdict.cancel()
            self._verdicts.discard(verdict)
        if verdict.cancelled():
            return permission.CANCELLED
        # ACP has no place for the reason; the agent tells the model in its own words.
        allowed, _ = verdict.result()
        return permission.outcome(params["options"], allowed=allowed)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _status_of(failure: RpcError) -> int | None:
    if failure.code == _AUTH_REQUIRED:
        return 401
    found = _STATUS.search(str(failure))
    return int(found[1]) if found else None
