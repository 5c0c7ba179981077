"""Keep the tool calls that wait for an answer on disk, together with the answers."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.backends.claude import defer_hook
from culture.errors import NotAllowedError

# The hook answers at once; this only ends one that hangs.
_HOOK_TIMEOUT_S: Final = 60
_KINDS: Final = ("deferred", "answer", "used")


class Deferrals:
    """The files of deferred calls: ID.deferred, then ID.answer, then ID.used while the call runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def prepare(self) -> None:
        """Make the directory."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise NotAllowedError(f"cannot make '{self._directory}': {error.strerror}") from None

    def hook_settings(self) -> str:
        """Return the settings for Claude Code that contain the hook."""
        program = (sys.executable, "-I", "-S", str(Path(defer_hook.__file__)), str(self._directory))
        hook = {"type": "command", "command": shlex.join(program), "timeout": _HOOK_TIMEOUT_S}
        return json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}})

    def defer(self, call_id: str) -> None:
        """Note that a call waits for an answer, before Claude Code is told so."""
        self._write(call_id, "deferred", {})

    def answer(self, call_id: str, *, allowed: bool, reason: str) -> None:
        """Put the answer where the hook finds it."""
        self._write(call_id, "answer", {"allowed": allowed, "reason": reason})

    def knows(self, call_id: str) -> bool:
        """Return whether a call was deferred, answered or not."""
        return defer_hook.is_call_id(call_id) and any(
            defer_hook.place(self._directory, call_id, kind).exists() for kind in _KINDS
        )

    def is_empty(self) -> bool:
        """Return whether no call is deferred."""
        return not any(self._files())

    def forget(self, but: str = "") -> None:
        """Remove all calls except one: they ended, or they will not be repeated."""
        for file in self._files():
            if file.stem != but:
                file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        if not self._directory.is_dir():
            return []
        return [file for file in self._directory.iterdir() if file.suffix.removeprefix(".") in _KINDS]

    def _write(self, call_id: str, kind: str, content: Mapping[str, Any]) -> None:
        """Write the file whole or not at all, and before anybody relies on it."""
        file = defer_hook.place(self._directory, call_id, kind)
        new = file.with_suffix(".new")
        with new.open("w", encoding="utf-8") as opened:
            json.dump(content, opened, ensure_ascii=False)
            opened.flush()
            os.fsync(opened.fileno())
        new.replace(file)
