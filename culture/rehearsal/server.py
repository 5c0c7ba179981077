"""Serve the wire formats over HTTP and carry out what the script decided."""

import asyncio
import contextlib
import socket
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType

from aiohttp import web

from culture.rehearsal import anthropic, completions, responses
from culture.rehearsal.rehearsal import Answer, Rehearsal
from culture.rehearsal.reply import Content, Delay, Drop, Fail, Reply, ReplyText, Stall, ToolCall, content_of
from culture.rehearsal.script import Script, ScriptUsage
from culture.rehearsal.shell import in_own_words
from culture.rehearsal.wire import BadRequest, Json, ModelRequest, NewId, WireFormat

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# One row per wire format; another one is a module that fits WireFormat.
FORMATS: dict[str, WireFormat] = {
    "/v1/messages": anthropic,
    "/v1/chat/completions": completions,
    "/v1/responses": responses,
}

# What is listed; any other name is answered as well.
MODELS = ("rehearsal",)
# Each request holds its whole conversation.
_LOG_LENGTH = 50
# A conversation grows with every turn, and carries files and images.
_BODY_LIMIT_BYTES = 64 * 1024 * 1024
# How soon it is noticed that the other side of a silent connection has gone.
_GONE_CHECK_S = 0.1


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request and what answered it."""

    request: ModelRequest
    answer: Answer

    @property
    def is_aside(self) -> bool:
        return self.request.aside is not None

    def as_json(self) -> Json:
        conversation = self.request.conversation
        return {
            "model": conversation.model,
            "prompt": conversation.prompt,
            "after_tool": conversation.result.tool if conversation.result else None,
            "aside": self.is_aside,
            "rule": self.answer.rule,
            "reply": [_in_words(part) for part in content_of(self.answer.reply)],
            "streamed": self.request.is_streamed,
            "input_tokens": self.request.input_tokens,
        }


def _in_words(part: Content) -> str:
    match part:
        case ReplyText(text):
            return text
        case ToolCall(name, input):
            return f"{name}: {input.get('command', '')}".removesuffix(": ")


class _ConnectionDropped(Exception):
    """The script ends the connection here."""


class RehearsalServer:
    """Serves while it is entered. `asked` keeps the last requests, oldest first."""

    def __init__(
        self,
        script: Script,
        *,
        new_id: NewId = lambda: uuid.uuid4().hex,
        on_asked: Callable[[ReceivedRequest], None] = lambda asked: None,
    ) -> None:
        self.asked: deque[ReceivedRequest] = deque(maxlen=_LOG_LENGTH)
        self._rehearsal = Rehearsal(script)
        self._new_id = new_id
        self._on_asked = on_asked
        self._stopping = asyncio.Event()
        self._runner = web.AppRunner(self._app(), access_log=None)

    async def __aenter__(self) -> "RehearsalServer":
        await self._runner.setup()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def listen(self, sockets: Iterable[socket.socket]) -> None:
        for each in sockets:
            await web.SockSite(self._runner, each).start()

    def play(self, script: Script) -> None:
        """Play another script from now on; its rules have not answered yet."""
        self._rehearsal = Rehearsal(script)

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=_BODY_LIMIT_BYTES)
        for path, wire in FORMATS.items():
            app.router.add_post(path, self._answering(wire))
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/models/{id}", self._model)
        app.router.add_get("/rehearsal/requests", self._requests)
        # The CLI looks with HEAD whether there is anyone; add_get answers HEAD, too.
        app.router.add_get("/", self._hello)
        app.router.add_get("/api/hello", self._hello)
        app.router.add_route("*", "/{path:.*}", self._unknown)
        app.on_shutdown.append(self._stop)
        return app

    async def _stop(self, app: web.Application) -> None:
        self._stopping.set()

    def _answering(self, wire: WireFormat) -> Handler:
        async def respond(http: web.Request) -> web.StreamResponse:
            try:
                request = wire.read(await http.read())
            except BadRequest as error:
                return _refusal(wire, Fail(400, str(error)))
            perform = self._stream if request.is_streamed else self._whole
            try:
                return await perform(http, wire, *self._decide(request))
            except (_ConnectionDropped, ConnectionResetError):
                # On a closed connection the server takes any response as one that nobody waits for.
                if http.transport is not None:
                    http.transport.close()
                return web.StreamResponse()

        return respond

    def _decide(self, request: ModelRequest) -> tuple[ModelRequest, Answer]:
        """Return what to answer, and the request with the token counts that the answer reports."""
        if request.aside is not None:
            answer = Answer(None, request.aside)
        else:
            answer = self._rehearsal.answer(request.conversation)
        request = _counted(request, answer.usage)
        asked = ReceivedRequest(request, answer)
        self.asked.append(asked)
        self._on_asked(asked)
        return request, replace(answer, reply=in_own_words(answer.reply, request.conversation.tools))

    async def _whole(
        self, http: web.Request, wire: WireFormat, request: ModelRequest, answer: Answer
    ) -> web.StreamResponse:
        for step in answer.reply:
            match step:
                case ReplyText() | ToolCall():
                    pass
                case Fail():
                    return _refusal(wire, step, answer.headers)
                case Delay() | Drop() | Stall():
                    await self._carry_out(http, step)
        whole = wire.whole(request, answer.reply, self._new_id)
        return web.json_response(whole, headers=answer.headers)

    async def _stream(
        self, http: web.Request, wire: WireFormat, request: ModelRequest, answer: Answer
    ) -> web.StreamResponse:
        reply: Reply = answer.reply
        # An error before any content is a plain response: nothing has been sent yet.
        while reply and isinstance(reply[0], Delay):
            await self._carry_out(http, reply[0])
            reply = reply[1:]
        if reply and isinstance(reply[0], Fail):
            return _refusal(wire, reply[0], answer.headers)
        own = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers={**own, **answer.headers})
        await response.prepare(http)
        for part in wire.stream(request, reply, self._new_id):
            if isinstance(part, bytes):
                await response.write(part)
            else:
                await self._carry_out(http, part)
        return response

    async def _carry_out(self, http: web.Request, step: Delay | Drop | Stall) -> None:
        match step:
            case Delay(seconds):
                await self._pause(http, seconds)
            case Stall():
                await self._pause(http, None)
                raise _ConnectionDropped
            case Drop():
                raise _ConnectionDropped

    async def _pause(self, http: web.Request, seconds: float | None) -> None:
        """Wait for some seconds, or without end. Stop when the other side goes away or the server stops."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds if seconds is not None else float("inf")
        while (left := end - loop.time()) > 0 and not self._stopping.is_set():
            if http.transport is None or http.transport.is_closing():
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, _GONE_CHECK_S)):
                    await self._stopping.wait()

    async def _count_tokens(self, http: web.Request) -> web.Response:
        try:
            return web.json_response(anthropic.count_tokens(await http.read()))
        except BadRequest as error:
            return _refusal(anthropic, Fail(400, str(error)))

    async def _models(self, http: web.Request) -> web.Response:
        return web.json_response(anthropic.models(MODELS))

    async def _model(self, http: web.Request) -> web.Response:
        return web.json_response(anthropic.model(http.match_info["id"]))

    async def _requests(self, http: web.Request) -> web.Response:
        return web.json_response([asked.as_json() for asked in self.asked])

    async def _hello(self, http: web.Request) -> web.Response:
        return web.Response(text="culture-rehearsal: a scripted model\n")

    async def _unknown(self, http: web.Request) -> web.Response:
        return _refusal(anthropic, Fail(404, f"the rehearsal model has no {http.method} {http.path}"))


def _refusal(wire: WireFormat, fail: Fail, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(wire.failure(fail), status=fail.status, headers=headers)


def _counted(request: ModelRequest, usage: ScriptUsage) -> ModelRequest:
    """Return the request with the token counts of the script, where it has some."""
    given = request.input_tokens if usage.input_tokens is None else usage.input_tokens
    cached, made = usage.cached_tokens, usage.output_tokens
    return replace(request, input_tokens=given, cached_tokens=cached, output_tokens=made)
