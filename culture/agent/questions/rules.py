"""Decide by rules whether a tool call is allowed, refused, or needs the answer of a person."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

from culture.agent.backend.permission import is_irc_command, plain_words
from culture.agent.contract import PermissionRequest
from culture.config.agent.permissions import PermissionRule, PermissionsConfig

Verdict = Literal["allow", "ask", "deny"]

# Tools that only read, or that only change the agent's own notes.
_READING_TOOLS: Final = frozenset(("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "view", "read"))
_EDITING_TOOLS: Final = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "edit"))
# Programs that only read, whatever their arguments are.
_READING_PROGRAMS: Final = frozenset(
    ("basename", "cat", "cmp", "df", "diff", "dirname", "du", "echo", "grep", "head", "id", "ls", "pwd",
     "readlink", "realpath", "sha256sum", "stat", "tail", "uname", "wc", "which", "whoami")
)  # fmt: skip
_READING_GIT: Final = frozenset(
    ("blame", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status")
)
# Options by which a program that reads writes, deletes or runs something else.
_WRITING_OPTIONS: Final = {
    "find": ("-delete", "-exec", "-fls", "-fprint", "-ok"),
    "git": ("--output", "--ext-diff", "--textconv", "-O"),
    "rg": ("--pre", "--hostname-bin"),
}
# Below the agent's directory, files that programs run or obey.
_COMMANDING: Final = frozenset((".git", ".claude", ".codex", ".github", ".husky", ".vscode"))
_PATH_KEYS: Final = ("file_path", "path", "notebook_path")
# What separates the commands of a shell script.
_SEPARATORS: Final = re.compile(r"[;&|\n(){}`]|\$\(")


class PermissionRules:
    """The rules of one agent. Relative paths are relative to its directory."""

    def __init__(self, config: PermissionsConfig, directory: Path, own_tools: Iterable[str]) -> None:
        self._config = config
        self._directory = directory
        self._own_tools = frozenset(own_tools)

    def verdict(self, request: PermissionRequest) -> Verdict:
        """Return what to do with a tool call: deny comes before ask, and ask before allow."""
        paths = self._paths(request)
        if any(self._touches(rule, request, paths) for rule in self._config.deny):
            return "deny"
        if request.tool in self._own_tools or is_irc_command(request.command):
            return "allow"
        if any(self._touches(rule, request, paths) for rule in self._config.ask):
            return "ask"
        if any(self._covers(rule, request, paths) for rule in self._config.allow):
            return "allow"
        return "allow" if self._is_harmless(request, paths) else "ask"

    def _touches(self, rule: PermissionRule, request: PermissionRequest, paths: Sequence[str]) -> bool:
        """Return whether a rule that restricts matches any part of a call."""
        return (
            _is_tool(rule, request)
            and (not rule.command or any(fnmatchcase(part, rule.command) for part in _parts(request.command)))
            and (not rule.path or any(_is_below(path, rule.path) for path in paths))
        )

    def _covers(self, rule: PermissionRule, request: PermissionRequest, paths: Sequence[str]) -> bool:
        """Return whether a rule that allows matches all of a call, which must have no shell syntax."""
        if not _is_tool(rule, request):
            return False
        words = plain_words(request.command) if request.command else None
        if request.command and words is None:
            return False
        if rule.command and not (words and fnmatchcase(" ".join(words), rule.command)):
            return False
        return not rule.path or (bool(paths) and all(_is_below(path, rule.path) for path in paths))

    def _is_harmless(self, request: PermissionRequest, paths: Sequence[str]) -> bool:
        if request.command:
            return _is_reading(plain_words(request.command) or [])
        if request.tool in _EDITING_TOOLS:
            return bool(paths) and all(self._is_own_file(path) for path in paths)
        return request.tool in _READING_TOOLS

    def _is_own_file(self, path: str) -> bool:
        own = os.path.realpath(self._directory)
        parts = Path(path).parts[len(Path(own).parts) :]
        return path.startswith(f"{own}/") and not _COMMANDING.intersection(parts)

    def _paths(self, request: PermissionRequest) -> list[str]:
        """Return the files that a call names, without symbolic links."""
        named = _named_in(request.input)
        if request.command:
            words = [word for part in _parts(request.command)[1:] for word in part.split()[1:]]
            named += [word.strip("'\"") for word in words if not word.startswith("-")]
        return [os.path.realpath(self._directory / os.path.expanduser(name)) for name in named if name]


def _is_tool(rule: PermissionRule, request: PermissionRequest) -> bool:
    return not rule.tool or fnmatchcase(request.tool, rule.tool)


def _is_below(path: str, pattern: str) -> bool:
    """Return whether a path matches; `/srv/*` matches `/srv` as well."""
    return fnmatchcase(path, pattern) or path == pattern.removesuffix("/*")


def _parts(command: str) -> list[str]:
    """Return a command as it is, and each command of the script that it is, with single spaces."""
    pieces = (" ".join(piece.split()) for piece in _SEPARATORS.split(command))
    return [" ".join(command.split()), *(piece for piece in pieces if piece)]


def _named_in(input: Mapping[str, Any]) -> list[str]:
    single = [value for key in _PATH_KEYS if isinstance(value := input.get(key), str)]
    changes = input.get("changes")
    several = changes if isinstance(changes, list) else []
    return single + [str(each["path"]) for each in several if isinstance(each, dict) and "path" in each]


def _is_reading(words: Sequence[str]) -> bool:
    """Return whether a plain command only reads."""
    checks: dict[str, Callable[[], bool]] = {
        "git": lambda: len(words) > 1 and words[1] in _READING_GIT,
        "find": lambda: True,
        "rg": lambda: True,
    }
    program = words[0] if words else ""
    if program in _READING_PROGRAMS:
        return True
    is_writing = any(word.startswith(_WRITING_OPTIONS.get(program, ())) for word in words)
    return program in checks and checks[program]() and not is_writing
