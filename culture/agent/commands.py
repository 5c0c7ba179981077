"""What can be asked of an agent's daemon over its socket: what runs for each row of the skill's table."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from culture.agent.desk import Data, Desk
from culture.agent.skill.verbs import VERBS, Parameter, Verb, complete
from culture.errors import UsageError
from culture.names import is_channel, is_nick

Arguments = Mapping[str, Any]
Run = Callable[[Desk, Arguments], Awaitable[Data]]

# More than that in a channel is read by nobody.
MOST_TEXT_BYTES: Final = 32 * 1024
MOST_TEXT_LINES: Final = 400

FOR_OPERATORS: Final = {
    "queue": Verb("queue", "what was said to the agent, and what became of it"),
    "pause": Verb("pause", "begin no turn until it is resumed", (Parameter("why", "the reason", "REASON"),)),
    "resume": Verb("resume", "begin turns again"),
}
"""What culturectl asks for. An agent has no such tools: who is paused does not resume itself."""

ROWS: Final = {verb.request: verb for verb in (*VERBS.values(), *FOR_OPERATORS.values())}


async def run_command(desk: Desk, request: Arguments) -> Data:
    """Raises UsageError, with words, for whatever is not a request."""
    name = request.get("type")
    verb = ROWS.get(name) if isinstance(name, str) else None
    if verb is None:
        raise UsageError(f"unknown command '{name}'", hint=f"known commands: {', '.join(ROWS)}")
    # JSON can name half a surrogate pair, which no line on the wire can carry.
    given = {name: _speakable(value) for name, value in complete(verb, request).items()}
    return await RUN[verb.request](desk, given)


def _speakable(value: str | int | None) -> str | int | None:
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


async def _send(desk: Desk, given: Arguments) -> Data:
    return await desk.say(_target(given), _text(given["message"]))


async def _read(desk: Desk, given: Arguments) -> Data:
    return desk.read(_target(given), given["limit"])


async def _ask(desk: Desk, given: Arguments) -> Data:
    return await desk.ask(_target(given), _text(given["question"]), given["timeout"])


async def _join(desk: Desk, given: Arguments) -> Data:
    return await desk.join(_channel(given))


async def _part(desk: Desk, given: Arguments) -> Data:
    return await desk.part(_channel(given), given["reason"] or "")


async def _channels(desk: Desk, given: Arguments) -> Data:
    return desk.channels()


async def _who(desk: Desk, given: Arguments) -> Data:
    return await desk.who(_target(given))


async def _topic(desk: Desk, given: Arguments) -> Data:
    return await desk.topic(_channel(given), given["topic"])


async def _history(desk: Desk, given: Arguments) -> Data:
    is_everywhere = given["channel"] == "*" and given["search"] is not None
    target = "*" if is_everywhere else _target(given)
    return await desk.history(target, given["search"], given["limit"])


async def _whoami(desk: Desk, given: Arguments) -> Data:
    return desk.whoami()


async def _status(desk: Desk, given: Arguments) -> Data:
    return desk.status()


async def _compact(desk: Desk, given: Arguments) -> Data:
    return await desk.compact()


async def _clear(desk: Desk, given: Arguments) -> Data:
    return await desk.clear()


async def _set_directory(desk: Desk, given: Arguments) -> Data:
    return desk.set_directory(given["path"])


async def _queue(desk: Desk, given: Arguments) -> Data:
    return desk.queue()


async def _pause(desk: Desk, given: Arguments) -> Data:
    return desk.pause(given["why"])


async def _resume(desk: Desk, given: Arguments) -> Data:
    return desk.resume()


RUN: dict[str, Run] = {
    "irc_send": _send,
    "irc_read": _read,
    "irc_ask": _ask,
    "irc_join": _join,
    "irc_part": _part,
    "irc_channels": _channels,
    "irc_who": _who,
    "irc_topic": _topic,
    "irc_history": _history,
    "whoami": _whoami,
    "status": _status,
    "compact": _compact,
    "clear": _clear,
    "set_directory": _set_directory,
    "queue": _queue,
    "pause": _pause,
    "resume": _resume,
}


def _channel(given: Arguments) -> str:
    channel: str = given["channel"]
    if not is_channel(channel):
        raise UsageError(f"'{channel}' is not a channel")
    return channel


def _target(given: Arguments) -> str:
    """Also what keeps a target from smuggling a second command onto the wire."""
    target: str = given["channel"]
    if not (is_channel(target) or is_nick(target)):
        raise UsageError(f"'{target}' is neither a channel nor a nick")
    return target


def _text(text: str) -> str:
    if len(text.encode()) > MOST_TEXT_BYTES or text.count("\n") >= MOST_TEXT_LINES:
        said = f"a text has at most {MOST_TEXT_LINES} lines and {MOST_TEXT_BYTES} bytes"
        raise UsageError(said, hint="put it into a file, and say where it is")
    return text
