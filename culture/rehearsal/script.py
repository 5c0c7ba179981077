"""The form of a script: rules in order, of which the first that fits the conversation answers.

rules:
  - name: greeting
    prompt: '<(?P<sender>\\S+)> hello'
    answer:
      - run: [irc, send, "#general", "{sender}: hello"]
"""

import json
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from culture.config.loader import load
from culture.config.rules import CHECK, at_least, checked
from culture.rehearsal.template import COMMAND, names_in

DEFAULT = Path(__file__).with_name("default.yaml")
ANY_TOOL = "any"
# What a rule with `after_tool` may fill in besides the groups of its prompt.
OUTPUT, LINES = "output", "lines"
# RFC 9110, section 5.6.2.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = ("content-type", "content-length", "transfer-encoding", "connection")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a script: it ignores case, and `^` and `$` match at every line."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _check_regex(pattern: str) -> str | None:
    try:
        compile_pattern(pattern)
    except re.error as error:
        return f"not a regular expression: {error}"
    return None


def _check_status(status: int) -> str | None:
    return None if 400 <= status < 600 else f"must be an HTTP error, 400 to 599, is {status}"


def _check_delay(delay_s: float | None) -> str | None:
    return None if delay_s is None or delay_s >= 0 else f"must not be negative, is {delay_s}"


def _check_count(count: int | None) -> str | None:
    return None if count is None or count >= 0 else f"must not be negative, is {count}"


def _check_headers(headers: dict[str, str]) -> str | None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            return f"'{name}' is not the name of an HTTP header"
        if not value.isprintable() or not value.isascii():
            return f"the value of '{name}' must be one line of ASCII text"
        if name.lower() in _OWN_HEADERS:
            return f"'{name}' is set by the server itself"
    return None


def _check_json(data: dict[str, Any]) -> str | None:
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"cannot be written as JSON: {error}"
    return None


def _check_not_empty(values: tuple[Any, ...] | None) -> str | None:
    return "must not be empty" if values == () else None


def _is_absent(value: Any) -> bool:
    # By identity: a delay of 0 equals False and is a step.
    return value is None or value is False


@dataclass(frozen=True, slots=True)
class ToolStep:
    """Call a tool."""

    name: str
    input: dict[str, Any] = field(default_factory=dict, metadata={CHECK: _check_json})


@dataclass(frozen=True, slots=True)
class ErrorStep:
    """Fail as an API does."""

    status: int = checked(_check_status)
    # Empty: the one that belongs to the status.
    type: str = ""
    message: str = "the script says so"


@dataclass(frozen=True, slots=True)
class ScriptUsage:
    """The token counts that a reply reports. What is not given is estimated from the sizes of the texts."""

    # All input tokens, including the cached ones.
    input_tokens: int | None = checked(_check_count, default=None)
    cached_tokens: int = checked(at_least(0), default=0)
    output_tokens: int | None = checked(_check_count, default=None)

    def __post_init__(self) -> None:
        if self.cached_tokens > (self.input_tokens or 0):
            raise ValueError("'cached_tokens' is more than 'input_tokens', of which it is a part")


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One step of an answer: exactly one field is set."""

    text: str | None = None
    # The words of a command for the Bash tool; each stays one word whatever is filled into it.
    run: tuple[str, ...] | None = checked(_check_not_empty, default=None)
    tool: ToolStep | None = None
    delay_s: float | None = checked(_check_delay, default=None)
    error: ErrorStep | None = None
    # Close the connection after what was sent so far.
    drop: bool = False
    # Keep the connection open and send nothing more.
    stall: bool = False

    def __post_init__(self) -> None:
        given = [f.name for f in fields(self) if not _is_absent(getattr(self, f.name))]
        if len(given) != 1:
            kinds = ", ".join(f.name for f in fields(self))
            found = ", ".join(given) or "none"
            raise ValueError(f"a step is exactly one of {kinds}; found {found}")

    @property
    def is_last(self) -> bool:
        return bool(self.error or self.drop or self.stall)


@dataclass(frozen=True, slots=True)
class ScriptRule:
    """When the model answers, and what."""

    answer: tuple[ScriptStep, ...] = checked(_check_not_empty)
    # What logs and tests call it; empty: its number.
    name: str = ""
    # Sought in what the user said last; empty: whatever it is.
    prompt: str = checked(_check_regex, default="")
    # Sought in the name of the model.
    model: str = checked(_check_regex, default="")
    # Answers only the result of this tool, or of any; empty: only what the user says.
    after_tool: str = ""
    # Sought in the command whose result is answered.
    after_command: str = checked(_check_regex, default="")
    # Answers only a result that the tool failed with, or that was not permitted.
    after_failure: bool = False
    # How often the rule may answer; 0: always.
    times: int = checked(at_least(0), default=0)
    # The token counts that the reply reports, so that budgets can be rehearsed.
    usage: ScriptUsage = field(default_factory=ScriptUsage)
    # Headers of the HTTP response, also of an error, so that quotas can be rehearsed.
    headers: dict[str, str] = field(default_factory=dict, metadata={CHECK: _check_headers})

    def __post_init__(self) -> None:
        if (self.after_command or self.after_failure) and not self.after_tool:
            raise ValueError("'after_command' and 'after_failure' need 'after_tool'")
        for i, step in enumerate(self.answer):
            if step.is_last and i + 1 < len(self.answer):
                raise ValueError(f"nothing comes after 'error', 'drop' or 'stall', but 'answer[{i}]' is one")
            self._check_names(f"answer[{i}]", step)

    @property
    def names(self) -> set[str]:
        """Return the names that may be filled into the answer."""
        of_result = {OUTPUT, LINES} if self.after_tool else set()
        return set(compile_pattern(self.prompt).groupindex) | of_result

    def _check_names(self, where: str, step: ScriptStep) -> None:
        data = dict(step.tool.input) if step.tool else {}
        command = data.pop(COMMAND, None)
        unsafe = sorted(names_in(command) & self.names)
        if unsafe:
            raise ValueError(f"'{{{unsafe[0]}}}' is not filled into 'command' of '{where}': use 'run'")
        unknown = sorted(names_in([step.text, step.run, data]) - self.names)
        if unknown:
            known = ", ".join(sorted(self.names)) or "none"
            raise ValueError(f"'{{{unknown[0]}}}' in '{where}' has no value; known names: {known}")


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does."""

    rules: tuple[ScriptRule, ...] = ()


def load_script(path: Path) -> Script:
    return load(path, Script)
