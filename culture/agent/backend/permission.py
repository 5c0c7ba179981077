"""Decide what a locked-down agent may run: one plain `irc` command, and nothing that a shell adds to it.

The backends have rules of their own, by the beginning of a command. They see through `;`, `&&` and
`$(…)`, but let variables pass: `irc send '#ops' "$SECRET"` begins like any other call of the skill.
"""

import logging
from collections.abc import Collection, Iterator
from typing import Final

from culture.agent.contract import DeferCall, Judge, PermissionRequest

log = logging.getLogger(__name__)

REFUSAL: Final = (
    "not allowed: this agent may only run a single plain `irc` command, such as irc send '#channel' 'text'. "
    "Put every argument in single quotes; no variables, substitutions, pipes, redirections, second commands."
)

# What stands for itself outside quotes in every POSIX shell. Everything else must be quoted.
_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,@%+=^")


def only_irc(tools: Collection[str] = ()) -> Judge:
    """Return a judge that allows the skill's program and these tools of the daemon, and nothing else."""

    async def judge(request: PermissionRequest) -> tuple[bool, str]:
        allowed = request.tool in tools or is_irc_command(request.command)
        return allowed, "" if allowed else REFUSAL

    return judge


async def decide(judge: Judge | None, request: PermissionRequest) -> tuple[bool, str]:
    """Return whether a call is allowed, and why not. A call that cannot be judged is refused."""
    if judge is None:
        return True, ""
    try:
        return await judge(request)
    except DeferCall:
        if request.can_defer:
            raise
        return False, "not allowed: nobody has answered, and the call cannot wait"
    except Exception:
        log.exception("could not judge a call of %s, which is refused", request.tool)
        return False, "not allowed: nobody could judge it"


def is_irc_command(command: str) -> bool:
    """Return whether a shell would run `irc VERB …` with exactly these words, and do nothing else."""
    words = plain_words(command.strip(" \t\n"))
    if not words or words[0] != "irc":
        return False
    # Options before the verb choose another agent to speak for; that is for people.
    return len(words) == 1 or words[1:] == ["--help"] or not words[1].startswith("-")


def plain_words(command: str) -> list[str] | None:
    """Return the words of a command that uses only quotes of the shell; None if it uses more."""
    words: list[str] = []
    word: str | None = None
    rest = iter(command)
    for char in rest:
        if char in " \t":
            if word is not None:
                words.append(word)
            word = None
            continue
        piece = _piece(char, rest, at_start=word is None)
        if piece is None:
            return None
        word = (word or "") + piece
    return words if word is None else [*words, word]


def _piece(char: str, rest: Iterator[str], *, at_start: bool) -> str | None:
    """Return what a character outside quotes adds to its word, with what follows; None if it is special."""
    match char:
        case "'":
            return _single_quoted(rest)
        case '"':
            return _double_quoted(rest)
        case "\\":
            escaped = next(rest, "\n")
            # A line continuation is not one word more or less by accident; it is not needed either.
            return None if escaped in "\n\0" else escaped
        case "#":
            return None if at_start else char
        case _:
            return char if char in _PLAIN or (char.isprintable() and not char.isascii()) else None


def _single_quoted(rest: Iterator[str]) -> str | None:
    text = ""
    for char in rest:
        if char == "'":
            return text
        if char == "\0":
            return None
        text += char
    return None


def _double_quoted(rest: Iterator[str]) -> str | None:
    text = ""
    for char in rest:
        match char:
            case '"':
                return text
            case "$" | "`" | "\0":
                return None
            case "\\":
                escaped = next(rest, "")
                if escaped in ("", "\0"):
                    return None
                # Only these lose their backslash, and a line end goes with it (POSIX shell, section 2.2.3).
                text += escaped if escaped in '$`"\\' else f"\\{escaped}".removeprefix("\\\n")
            case _:
                text += char
    return None
