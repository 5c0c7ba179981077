"""What an agent can have done by its skill: one row each, for the program, the tools and the socket.

The program reads this table before every word that an agent says, so it costs next to nothing to load.
What runs for a row is in culture.agent.tools.commands, how its answer reads in culture.agent.skill.showing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from culture.errors import UsageError

ASK_TIMEOUT_S: Final = 300
# A turn that waits longer than that is taken for one that is stuck.
LONGEST_ASK_S: Final = 3600
DEFAULT_LINES: Final = 50
MOST_LINES: Final = 1000

Json = dict[str, Any]

_KINDS: Final = {str: "text", int: "a whole number", bool: "true or false"}


class Parameter(NamedTuple):
    name: str
    about: str
    # How it is called where a person types it.
    shown: str
    kind: type[str] | type[int] | type[bool] = str
    is_required: bool = True
    # Typed as `--name VALUE`, before the text or behind it.
    is_option: bool = False
    # All the words that are left; a single `-` is what comes by standard input.
    is_text: bool = False
    # Of a number; 0: no limit.
    most: int = 0
    default: int | None = None

    @property
    def usage(self) -> str:
        shown = f"--{self.name} {self.shown}" if self.is_option else self.shown
        shown += "…" if self.is_text else ""
        return shown if self.is_required else f"[{shown}]"

    @property
    def schema(self) -> Json:
        default = {} if self.default is None else {"default": self.default}
        number = {"type": "integer", "minimum": 1, "maximum": self.most}
        return {**(number if self.kind is int else {"type": "string"}), "description": self.about, **default}


class SkillVerb(NamedTuple):
    # The type of the request on the socket, and the name of the tool.
    request: str
    # For people and for models, as it would be said of a command.
    about: str
    parameters: Sequence[Parameter] = ()
    example: str = ""

    @property
    def schema(self) -> Json:
        """JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {each.name: each.schema for each in self.parameters},
            "required": [each.name for each in self.parameters if each.is_required],
            "additionalProperties": False,
        }


_CHANNEL: Final = Parameter("channel", "a channel, such as #general", "CHANNEL")
_TARGET: Final = Parameter("channel", "a channel such as #general, or somebody's nick", "TARGET")
_LIMIT: Final = Parameter(
    "limit",
    "at most so many lines",
    "LIMIT",
    kind=int,
    is_required=False,
    most=MOST_LINES,
    default=DEFAULT_LINES,
)

VERBS: Final[dict[str, SkillVerb]] = {
    "send": SkillVerb(
        "irc_send",
        "say something in a channel, or to a nick; it may be long and have several lines",
        (_TARGET, Parameter("message", "what to say", "TEXT", is_text=True)),
        "irc send '#general' 'hello'",
    ),
    "read": SkillVerb(
        "irc_read",
        "what was said since the last read, the oldest first",
        (_TARGET, _LIMIT),
        "irc read '#general' 20",
    ),
    "ask": SkillVerb(
        "irc_ask",
        "ask a question and wait for the answer: a mention of you in that channel, a direct message, or a "
        "reply to the question",
        (
            _TARGET,
            Parameter(
                "timeout",
                "how many seconds to wait",
                "SECONDS",
                kind=int,
                is_required=False,
                is_option=True,
                most=LONGEST_ASK_S,
                default=ASK_TIMEOUT_S,
            ),
            Parameter("question", "what to ask", "TEXT", is_text=True),
        ),
        "irc ask '#general' --timeout 60 'which disk?'",
    ),
    "join": SkillVerb("irc_join", "be in a channel from now on", (_CHANNEL,), "irc join '#general'"),
    "part": SkillVerb(
        "irc_part",
        "leave a channel",
        (_CHANNEL, Parameter("reason", "what the others read", "REASON", is_required=False, is_text=True)),
        "irc part '#general'",
    ),
    "channels": SkillVerb("irc_channels", "the channels you are in, and how many are in each"),
    "who": SkillVerb("irc_who", "who is in a channel, or who a nick is", (_TARGET,), "irc who '#general'"),
    "topic": SkillVerb(
        "irc_topic",
        "the topic of a channel, or set it",
        (_CHANNEL, Parameter("topic", "the new topic", "TEXT", is_required=False, is_text=True)),
        "irc topic '#general'",
    ),
    "history": SkillVerb(
        "irc_history",
        "what was said, as the server remembers it: the last lines, or those found by a search; target '*' "
        "searches everywhere",
        (
            _TARGET,
            Parameter(
                "search",
                "words to look for; from:nick, before:2026-01-31",
                "WORDS",
                is_required=False,
                is_option=True,
            ),
            _LIMIT,
        ),
        "irc history '#general' --search 'disk full'",
    ),
    "whoami": SkillVerb("whoami", "your nick, server, channels and directory"),
    "status": SkillVerb("status", "what you are doing, and who waits"),
    "compact": SkillVerb("compact", "sum up your context when this turn is over, to make room"),
    "clear": SkillVerb("clear", "forget the conversation when this turn is over, and begin anew"),
    "directory": SkillVerb(
        "set_directory",
        "work in another directory: gives back the instructions that lie there",
        (Parameter("path", "the directory", "PATH"),),
        "irc directory /srv/website",
    ),
}


def complete(verb: SkillVerb, arguments: Mapping[str, Any]) -> Json:
    """The arguments of a row, each with what it is if nothing is said. Raises UsageError, in words."""
    return {each.name: _checked(verb, each, arguments.get(each.name)) for each in verb.parameters}


def _checked(verb: SkillVerb, parameter: Parameter, value: Any) -> str | int | None:
    if value is None and not parameter.is_required:
        return parameter.default
    # A bool is an int to Python and to nobody else.
    if not isinstance(value, parameter.kind) or isinstance(value, bool) != (parameter.kind is bool):
        raise UsageError(f"{verb.request}: '{parameter.name}' must be {_KINDS[parameter.kind]}")
    if parameter.most and isinstance(value, int) and not 1 <= value <= parameter.most:
        raise UsageError(f"{verb.request}: '{parameter.name}' must be 1 to {parameter.most}, is {value}")
    return value
