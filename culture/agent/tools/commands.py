"""The table of commands that an agent's daemon accepts over its socket, and the handler of each."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from culture.agent.skill.verbs import VERBS, Parameter, SkillVerb, complete
from culture.agent.tools.ipc import PERSON
from culture.agent.tools.toolset import Data, Toolset
from culture.errors import UsageError
from culture.names import is_channel, is_nick
from culture.protocol.plain_text import neutral

Arguments = Mapping[str, Any]
Run = Callable[[Toolset, Arguments], Awaitable[Data]]

# Nobody reads longer texts in a channel.
MAX_TEXT_BYTES: Final = 32 * 1024
MAX_TEXT_LINES: Final = 400

_NAME: Final = Parameter("name", "how the person who asks for it is called", "NAME", is_required=False)

# Commands of culturectl that are not offered as tools.
OPERATOR_COMMANDS: Final = {
    verb.request: verb
    for verb in (
        SkillVerb("queue", "list the messages to the agent and their state"),
        SkillVerb(
            "pause",
            "begin no turns until the agent is resumed",
            (
                Parameter("why", "the reason", "REASON", is_required=False),
                Parameter("interrupt", "whether to interrupt the running turn", "", bool, is_required=False),
            ),
        ),
        SkillVerb("resume", "begin turns again"),
        SkillVerb("abort", "stop the running turn for good", (_NAME,)),
        SkillVerb("drop", "drop one queued message", (Parameter("number", "its id", "ID", int), _NAME)),
        SkillVerb(
            "restart",
            "start the backend again",
            (Parameter("fresh", "whether to begin a new session", "", bool, is_required=False), _NAME),
        ),
        SkillVerb("shutdown", "end the agent"),
        SkillVerb("questions", "list the open questions of the agent"),
        SkillVerb(
            "answer",
            "answer a question of the agent",
            (
                Parameter("question", "the id of the question", "ID"),
                Parameter("text", "the answer", "TEXT", is_text=True),
                Parameter("who", "who answers; the socket fills it in", "USER"),
            ),
        ),
    )
}
# Commands that only a person may give, never a process of the agent itself: an agent must not answer its own
# questions, resume itself, nor get rid of what it was asked to do.
PERSONAL_COMMANDS: Final = OPERATOR_COMMANDS.keys() - {"queue", "questions"}

COMMANDS: Final = {verb.request: verb for verb in (*VERBS.values(), *OPERATOR_COMMANDS.values())}
# Other names of commands.
ALIASES: Final = {"compact_context": "compact", "clear_context": "clear"}


async def run_command(toolset: Toolset, request: Arguments) -> Data:
    """Run a request and return its result; raise UsageError for an unknown command or wrong arguments.

    `by` in the request is PERSON if a person makes it, who waits for the outcome.
    """
    name = request.get("type")
    verb = COMMANDS.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if verb is None:
        raise UsageError(f"unknown command '{name}'", hint=f"known commands: {', '.join(COMMANDS)}")
    # JSON can contain a lone surrogate, which UTF-8 cannot encode.
    arguments = {name: _replace_surrogates(value) for name, value in complete(verb, request).items()}
    return await HANDLERS[verb.request](toolset, {**arguments, "by": request.get("by")})


def _replace_surrogates(value: str | int | None) -> str | int | None:
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


async def _send(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.say(_target(arguments), _text(arguments["message"]))


async def _read(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.read(_target(arguments), arguments["limit"])


async def _ask(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.ask(_target(arguments), _text(arguments["question"]), arguments["timeout"])


async def _join(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.join(_channel(arguments))


async def _part(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.part(_channel(arguments), arguments["reason"] or "")


async def _channels(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.channels()


async def _who(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.who(_target(arguments))


async def _topic(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.topic(_channel(arguments), arguments["topic"])


async def _history(toolset: Toolset, arguments: Arguments) -> Data:
    is_everywhere = arguments["channel"] == "*" and arguments["search"] is not None
    target = "*" if is_everywhere else _target(arguments)
    return await toolset.history(target, arguments["search"], arguments["limit"])


async def _whoami(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.whoami()


async def _status(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.status()


async def _compact(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.compact(is_for_agent=arguments["by"] != PERSON)


async def _clear(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.clear(is_for_agent=arguments["by"] != PERSON)


async def _set_directory(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.set_directory(arguments["path"])


async def _queue(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.queue()


async def _pause(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.pause(arguments["why"] or "by request", interrupt=bool(arguments["interrupt"]))


async def _questions(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.questions()


async def _answer(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.answer(arguments["question"], _text(arguments["text"]), arguments["who"])


async def _resume(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.resume()


async def _abort(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.abort(_operator(arguments))


async def _drop(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.drop(arguments["number"], _operator(arguments))


async def _restart(toolset: Toolset, arguments: Arguments) -> Data:
    return await toolset.restart(_operator(arguments), fresh=bool(arguments["fresh"]))


async def _shutdown(toolset: Toolset, arguments: Arguments) -> Data:
    return toolset.shutdown()


HANDLERS: dict[str, Run] = {
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
    "questions": _questions,
    "answer": _answer,
    "abort": _abort,
    "drop": _drop,
    "restart": _restart,
    "shutdown": _shutdown,
}


def _operator(arguments: Arguments) -> str:
    return neutral(arguments["name"] or "an operator")


def _channel(arguments: Arguments) -> str:
    channel: str = arguments["channel"]
    if not is_channel(channel):
        raise UsageError(f"'{channel}' is not a channel")
    return channel


def _target(arguments: Arguments) -> str:
    """Return the target; refuse anything that could inject a second IRC command."""
    target: str = arguments["channel"]
    if not (is_channel(target) or is_nick(target)):
        raise UsageError(f"'{target}' is neither a channel nor a nick")
    return target


def _text(text: str) -> str:
    if len(text.encode()) > MAX_TEXT_BYTES or text.count("\n") >= MAX_TEXT_LINES:
        limits = f"a text has at most {MAX_TEXT_LINES} lines and {MAX_TEXT_BYTES} bytes"
        raise UsageError(limits, hint="put it into a file, and say where it is")
    return text
