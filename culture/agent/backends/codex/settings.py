"""Convert the settings of a session to the command line of codex and the parameters of a thread.

https://developers.openai.com/codex/config-reference
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.contract import Effort, SessionSpec
from culture.errors import UnavailableError

PROGRAM: Final = "codex"
INSTALL: Final = "npm install -g @openai/codex"
# Older ones read files without asking, whatever they are told.
OLDEST: Final = (0, 166, 0)
KEY: Final = "OPENAI_API_KEY"
BASE_URL: Final = "OPENAI_BASE_URL"

_OPENAI: Final = "https://api.openai.com/v1"
_PROVIDER: Final = "culture"
_EFFORTS: Final = {"off": "none", "low": "low", "medium": "medium", "high": "high", "max": "xhigh"}


def command(spec: SessionSpec, env: Mapping[str, str], *, toolless: bool = False) -> tuple[str, ...]:
    """Return the command that starts the app-server."""
    program, *options = spec.command or (PROGRAM,)
    hidden = {"shell_environment_policy.exclude": list(spec.secret_variables)}
    judged = {} if spec.judge is None else _JUDGED
    values = {**_ALWAYS, **hidden, **_provider(env), **judged, **(_TOOLLESS if toolless else {})}
    settings = (f"{key}={_toml(value)}" for key, value in values.items())
    pairs = (word for setting in settings for word in ("-c", setting))
    return (_native(program, env.get("PATH")), *options, "app-server", *pairs)


def check_version(user_agent: str) -> None:
    """Raise UnavailableError if codex is too old, by its user agent: `culture/0.166.0 (Debian …) …`."""
    found = re.search(r"/(\d+)\.(\d+)\.(\d+)", user_agent)
    version = tuple(map(int, found.groups())) if found else ()
    if version < OLDEST:
        told, oldest = (".".join(map(str, each)) or "unknown" for each in (version, OLDEST))
        raise UnavailableError(f"codex has version {told}; at least {oldest} is needed", hint=INSTALL)


def thread(spec: SessionSpec) -> dict[str, Any]:
    """Return the parameters that begin or resume an agent's thread."""
    return {
        "cwd": str(spec.directory),
        "developerInstructions": spec.briefing,
        # The unit's sandbox is around all of it.
        "sandbox": "danger-full-access",
        # In this mode everything is asked about, also what only reads.
        "approvalPolicy": "never" if spec.judge is None else "untrusted",
        **({"model": spec.model} if spec.model else {}),
    }


def dynamic_tools(spec: SessionSpec) -> dict[str, Any]:
    """Return the daemon's own tools as parameters of a new thread, which keeps them."""
    tools = [
        {"type": "function", "name": t.name, "description": t.description, "inputSchema": dict(t.parameters)}
        for t in spec.tools
    ]
    return {"dynamicTools": tools} if tools else {}


def toolless_thread(spec: SessionSpec) -> dict[str, Any]:
    """Return the parameters that begin or fork a thread that only answers, and that is not kept."""
    return {
        "cwd": str(spec.directory),
        "ephemeral": True,
        "sandbox": "read-only",
        "approvalPolicy": "untrusted",
        **({"model": spec.model} if spec.model else {}),
    }


def turn(effort: Effort) -> dict[str, Any]:
    """Return the parameters of a turn. The effort stays for the next turns, so every turn says it."""
    return {"effort": _EFFORTS[effort]}


_ALWAYS: Final[dict[str, Any]] = {
    # A login shell would set PATH anew, and `irc` would be another program or none.
    "allow_login_shell": False,
    "shell_environment_policy.inherit": "all",
    "shell_environment_policy.ignore_default_excludes": True,
    # Otherwise it looks for plugins elsewhere at every start.
    "features.plugins": False,
    "features.apps": False,
    # A goal makes it go on by itself, turn after turn.
    "features.goals": False,
    "check_for_update_on_startup": False,
}

# For threads that only answer: what codex adds to a request besides the conversation, mostly tools.
_TOOLLESS: Final[dict[str, Any]] = {
    "features.shell_tool": False,
    "features.unified_exec": False,
    "features.image_generation": False,
    "features.hooks": False,
    "include_permissions_instructions": False,
    "include_environment_context": False,
    "include_apps_instructions": False,
    "skills.include_instructions": False,
    "project_doc_max_bytes": 0,
}

# What it would do without asking.
_JUDGED: Final[dict[str, Any]] = {
    "features.multi_agent": False,
    "features.view_image": False,
    "web_search": "disabled",
}


def _provider(env: Mapping[str, str]) -> dict[str, Any]:
    """Return the API that takes the key in the environment; empty without one, for codex's own login."""
    if not env.get(KEY):
        return {}
    provider = {
        "name": _PROVIDER,
        "base_url": env.get(BASE_URL) or _OPENAI,
        "wire_api": "responses",
        "env_key": KEY,
        # The daemon has rules of its own for what is to be tried again.
        "request_max_retries": 1,
        "stream_max_retries": 2,
    }
    own = {f"model_providers.{_PROVIDER}.{key}": value for key, value in provider.items()}
    return {"model_provider": _PROVIDER, **own}


def _toml(value: Any) -> str:
    """Write a value as TOML: texts, numbers, booleans and lists look as in JSON."""
    return json.dumps(value)


def _native(program: str, path: str | None) -> str:
    """Return the program itself: what npm puts on PATH starts it as a child of a process of node."""
    found = shutil.which(program, path=path)
    if found is None:
        return program
    package = Path(found).resolve().parents[1]
    return str(next(_beside(package), found))


def _beside(package: Path) -> Iterator[Path]:
    if package.name == "codex":
        for place in (package.parent, package / "node_modules" / "@openai"):
            yield from place.glob("codex-linux-*/vendor/*/bin/codex")
