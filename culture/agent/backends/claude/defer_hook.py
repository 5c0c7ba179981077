"""The hook that Claude Code runs before each tool call of a session whose calls can be deferred.

Claude Code starts this file as a program, with the directory of the deferrals as its argument and the call as
JSON on its standard input. The program imports nothing but the standard library, so that it starts fast.

A hook in the daemon's own process is not enough: when a session is resumed, Claude Code repeats the deferred
call before the daemon has registered its hooks.

For a call that was deferred it says

- deny, if the answer was used before: the call ran, and nobody knows how far it came;
- what the answer says, if there is one; the answer is marked as used first, so that the call runs only once;
- defer, if there is no answer yet.

For all other calls it says nothing, and the daemon's hook decides.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The tool by which the model asks the user a question.
QUESTION_TOOL = "AskUserQuestion"
UNKNOWN_OUTCOME = (
    "This call was allowed and began, but it was cut off, and its outcome is unknown. "
    "Look at what it did before you do it again."
)


def is_call_id(text: str) -> bool:
    """Return whether a text can be the id of a call, and a part of a file name."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,200}", text) is not None


def place(directory: Path, call_id: str, kind: str) -> Path:
    """Return the file of a call; `kind` is deferred, answer or used."""
    return directory / f"{call_id}.{kind}"


def verdict(decision: str, reason: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a hook answers; `decision` is allow, deny or defer."""
    said: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    if reason:
        said["permissionDecisionReason"] = reason
    if decision == "allow" and reason and call.get("tool_name") == QUESTION_TOOL:
        said["updatedInput"] = answered(call.get("tool_input") or {}, reason)
    return {"hookSpecificOutput": said}


def answered(given: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """Return the input of the question tool with this answer to each of its questions."""
    questions = given.get("questions") or ()
    return {**given, "answers": {str(each.get("question")): answer for each in questions}}


def decide(directory: Path, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the hook answers for a call; empty: nothing."""
    call_id = str(call.get("tool_use_id"))
    if not is_call_id(call_id):
        return {}
    used = place(directory, call_id, "used")
    if used.exists():
        return verdict("deny", UNKNOWN_OUTCOME, call)
    try:
        place(directory, call_id, "answer").rename(used)
    except FileNotFoundError:
        is_deferred = place(directory, call_id, "deferred").exists()
        return verdict("defer", "", call) if is_deferred else {}
    _sync(directory)
    answer = json.loads(used.read_text(encoding="utf-8"))
    return verdict("allow" if answer["allowed"] else "deny", answer["reason"], call)


def _sync(directory: Path) -> None:
    """Make sure that a crash of the host does not undo a rename."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


if __name__ == "__main__":
    try:
        json.dump(decide(Path(sys.argv[1]), json.load(sys.stdin)), sys.stdout)
    except Exception as error:
        # Exit status 2 blocks the call; with any other one it would go on as if there were no hook.
        print(f"cannot decide on this call: {error}", file=sys.stderr)
        sys.exit(2)
