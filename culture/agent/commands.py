"""What can be asked of an agent's daemon by its skill: one row per command."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from culture.agent.buffers import Reading
from culture.errors import UsageError
from culture.names import is_channel, is_nick

DEFAULT_LIMIT = 50

Arguments = Mapping[str, Any]
Data = dict[str, Any]


class Desk(Protocol):
    """What the commands need of the daemon."""

    async def say(self, target: str, text: str) -> list[str]: ...

    def read(self, conversation: str, limit: int) -> Reading: ...

    def whoami(self) -> Data: ...

    def status(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Command:
    run: Callable[[Desk, Arguments], Awaitable[Data]]
    # Each argument by name, with the type that it must have.
    required: Mapping[str, type]
    optional: Mapping[str, type]


async def run_command(desk: Desk, request: Arguments) -> Data:
    """Raises UsageError, with words, for whatever is not a request."""
    name = request.get("type")
    command = COMMANDS.get(name) if isinstance(name, str) else None
    if command is None:
        raise UsageError(f"unknown command '{name}'", hint=f"known commands: {', '.join(COMMANDS)}")
    for argument, kind in {**command.required, **command.optional}.items():
        value = request.get(argument)
        if value is None and argument in command.optional:
            continue
        # A bool is an int to Python and to nobody else.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{name}: '{argument}' must be {_KINDS[kind]}")
    return await command.run(desk, request)


async def _send(desk: Desk, request: Arguments) -> Data:
    # JSON can name half a surrogate pair, which no line on the wire can carry.
    target, text = (request[name].encode(errors="replace").decode() for name in ("channel", "message"))
    # Also what keeps a target from smuggling a second command onto the wire.
    if not (is_channel(target) or is_nick(target)):
        raise UsageError(f"'{target}' is neither a channel nor a nick")
    if not text.strip():
        raise UsageError("there is no text to send")
    return {"lines": len(await desk.say(target, text))}


async def _read(desk: Desk, request: Arguments) -> Data:
    limit = request.get("limit") or DEFAULT_LIMIT
    if limit < 1:
        raise UsageError(f"irc_read: 'limit' must be at least 1, is {limit}")
    return asdict(desk.read(request["channel"], limit))


async def _whoami(desk: Desk, request: Arguments) -> Data:
    return desk.whoami()


async def _status(desk: Desk, request: Arguments) -> Data:
    return {"status": desk.status()}


_KINDS: dict[type, str] = {str: "text", int: "a whole number"}

COMMANDS: dict[str, Command] = {
    "irc_send": Command(_send, required={"channel": str, "message": str}, optional={}),
    "irc_read": Command(_read, required={"channel": str}, optional={"limit": int}),
    "whoami": Command(_whoami, required={}, optional={}),
    "status": Command(_status, required={}, optional={}),
}
