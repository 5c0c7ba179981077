"""Translate the tool Bash of scripts: each CLI has its own name and form of the tool that runs commands."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.reply import Reply, ToolCall
from culture.rehearsal.template import COMMAND

BASH: Final = "Bash"


@dataclass(frozen=True, slots=True)
class Shell:
    """The form of a tool that runs commands."""

    # Where in the tool's input the command is.
    key: str = COMMAND
    # What else the tool insists on.
    more: Callable[[], Mapping[str, Any]] = dict
    is_list: bool = False


# In the order in which they are preferred, where a CLI offers several.
SHELLS: dict[str, Shell] = {
    BASH: Shell(),
    "bash": Shell(more=lambda: {"description": "as the script says"}),
    "exec_command": Shell("cmd"),
    "shell_command": Shell(),
    "execute_command": Shell(more=lambda: {"requires_approval": False}),
    "run_commands": Shell("commands", is_list=True),
}

# How a CLI tells the model that a command ended, around what the command wrote.
_REPORTS: Final = (
    re.compile(
        r"\A(?:[A-Z][^\n]*\n)*?(?:Process exited with code|Exit code:) (?P<code>\d+)\n"
        r"(?:[A-Z][^\n]*\n)*?Output:\n(?P<output>.*)\Z",
        re.DOTALL,
    ),
    re.compile(r"\A(?P<output>.*?)\n?<shellId: \d+ completed with exit code (?P<code>\d+)>\s*\Z", re.DOTALL),
)


def in_own_words(reply: Reply, offered: tuple[str, ...]) -> Reply:
    """Return the reply with its commands given to the tool that the CLI offers for them."""
    name = next((name for name in SHELLS if name in offered), BASH)
    shell = SHELLS[name]

    def own(call: ToolCall) -> ToolCall:
        if call.name != BASH or name == BASH:
            return call
        command = call.input[COMMAND]
        return ToolCall(name, {shell.key: [command] if shell.is_list else command, **shell.more()})

    return tuple(own(step) if isinstance(step, ToolCall) else step for step in reply)


def result_of(tool: str, given: Mapping[str, Any], output: str) -> ToolOutput:
    """Return what a tool returned; a shell's result becomes one of Bash."""
    shell = SHELLS.get(tool)
    if shell is None:
        return ToolOutput(tool, "", output)
    command = given.get(shell.key, "")
    matches = (pattern.match(output) for pattern in _REPORTS if tool != BASH)
    report = next(filter(None, matches), None)
    return ToolOutput(
        tool=BASH,
        command="\n".join(map(str, command)) if isinstance(command, list) else str(command),
        output=report["output"] if report else output,
        has_failed=report is not None and report["code"] != "0",
    )
