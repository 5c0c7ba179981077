"""The agents that are known to speak ACP: how to start and to configure each of them."""

import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from culture.agent.contract import SessionSpec
from culture.errors import NotAllowedError, UnavailableError

# White space is what it is for JavaScript, in which these agents are written.
_COMMAND: Final = re.compile(r"[\s\ufeff]*/")
_FILE: Final = re.compile(r"(^|[\s\ufeff])@")
# Takes no room and is no white space.
_WORD_JOINER: Final = "\u2060"
# What an agent has that asks before each call; other tools, such as Monitor, run commands unasked.
_CLAUDE_TOOLS: Final = ("Bash", "Edit", "Write", "NotebookEdit", "Read", "WebFetch", "WebSearch")

# Features of codex that give it tools.
_CODEX_FEATURES: Final = (
    "shell_tool",
    "unified_exec",
    "multi_agent",
    "view_image",
    "image_generation",
    "goals",
)


def no_command(text: str) -> str:
    """Mark a prompt that begins with a slash as text: agents run it, and some swallow unknown commands."""
    return f"This is text, not a command:\n{text}" if _COMMAND.match(text) else text


def _no_file(text: str) -> str:
    """Break `@file` in a prompt for cline, which would add the content of that file."""
    return _FILE.sub(rf"\1{_WORD_JOINER}@", no_command(text))


@dataclass(frozen=True, slots=True)
class Setup:
    """What makes an agent keep to the contract."""

    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    # For `_meta` of session/new: extensions of the agent's own.
    meta: Mapping[str, Any] = field(default_factory=dict)
    # The same, for an agent that otherwise takes its own commands for text.
    commanding_meta: Mapping[str, Any] | None = None
    mode: str = ""
    # What makes a prompt text and nothing but text.
    neutral: Callable[[str], str] = no_command
    # Whether the agent has the briefing by now; otherwise it comes with the first prompt.
    is_briefed: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known about an agent, whatever the session."""

    command: tuple[str, ...]
    # In the registry of npm.
    package: str
    # The flag is true for a session that only answers.
    set_up: Callable[[SessionSpec, bool], Setup]
    # An older one may not know what it is set up with, and run what it takes for a command.
    oldest: tuple[int, int]
    # Whether it asks before everything it does, once it is set up for it.
    asks: bool
    # What it sums up its context by; empty: only if it advertises such a command.
    compact: str = ""

    @property
    def install(self) -> str:
        # By itself npm takes the newest one that knows the host's Node, which may be years old.
        return f"npm install -g {self.package}@latest"


def _claude(spec: SessionSpec, toolless: bool) -> Setup:
    options: dict[str, Any] = {
        # After each turn it would ask the model what a person may want to say next.
        "promptSuggestions": False,
    }
    # Tools that are not its own would hide behind a search.
    env = {"ENABLE_TOOL_SEARCH": "false"}
    if spec.judge is not None:
        # Settings could allow more, or run programs of their own; and `ls` is otherwise run unasked.
        tools = ["Bash"] if spec.is_locked else [*_CLAUDE_TOOLS]
        rules = {"permissions": {"ask": tools}}
        options |= {"settingSources": [], "strictMcpConfig": True, "tools": tools, "settings": rules}
        env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
    briefing: Any = {"append": spec.briefing}
    if toolless:
        options["tools"] = []
        briefing = spec.briefing
    return Setup(
        env=env,
        # Prompts come from IRC: `/compact` and `@/etc/passwd` in them are text.
        meta={"systemPrompt": briefing, "claudeCode": {"options": {**options, "verbatimPrompts": True}}},
        commanding_meta={"systemPrompt": briefing, "claudeCode": {"options": options}},
        neutral=lambda text: text,
        is_briefed=True,
    )


def _opencode(spec: SessionSpec, toolless: bool) -> Setup:
    env = {
        # It serves HTTP on loopback, to everybody on the host who knows this.
        "OPENCODE_SERVER_PASSWORD": secrets.token_urlsafe(),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
    if spec.judge is not None:
        # What lies in the directory could allow more.
        env |= {"OPENCODE_PERMISSION": '{"*":"ask"}', "OPENCODE_DISABLE_PROJECT_CONFIG": "1"}
    if toolless:
        # What a person configures there stays.
        config = json.loads(_variable(spec, "OPENCODE_CONFIG_CONTENT") or "{}")
        agent = {"prompt": spec.briefing, "tools": {"*": False}}
        config["agent"] = {**config.get("agent", {}), "build": agent}
        env |= {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_PERMISSION": '{"*":"deny"}'}
    return Setup(env=env, is_briefed=toolless)


def _cline(spec: SessionSpec, toolless: bool) -> Setup:
    return Setup(
        arguments=() if spec.judge is None else ("--auto-approve", "false"),
        # Otherwise it starts a daemon that outlives it, and shares it with every other cline on the host.
        env={"CLINE_SESSION_BACKEND_MODE": "local"},
        neutral=_no_file,
    )


def _codex(spec: SessionSpec, toolless: bool) -> Setup:
    # What a person configures there stays.
    config = json.loads(_variable(spec, "CODEX_CONFIG") or "{}")
    policy = config.setdefault("shell_environment_policy", {})
    policy["exclude"] = [*policy.get("exclude", []), *spec.secret_variables]
    # Its own sandbox would keep it from the socket of its skill; the unit's holds it.
    if toolless:
        config["features"] = {**config.get("features", {}), **dict.fromkeys(_CODEX_FEATURES, False)}
        config |= {"web_search": "disabled", "project_doc_max_bytes": 0}
    mode = "read-only" if toolless else "agent-full-access"
    return Setup(mode=mode, env={"CODEX_CONFIG": json.dumps(config)})


def _variable(spec: SessionSpec, name: str) -> str:
    return spec.env.get(name) or os.environ.get(name) or ""


PROFILES: Final = {
    "opencode": Profile(
        ("opencode", "acp"), "opencode-ai", _opencode, oldest=(1, 18), asks=True, compact="/compact"
    ),
    "cline": Profile(("cline", "--acp"), "cline", _cline, oldest=(3, 0), asks=True),
    "claude-agent-acp": Profile(
        ("claude-agent-acp",),
        "@agentclientprotocol/claude-agent-acp",
        _claude,
        oldest=(0, 99),
        asks=True,
        compact="/compact",
    ),
    # Runs what it takes for harmless unasked.
    "codex-acp": Profile(
        ("codex-acp",),
        "@agentclientprotocol/codex-acp",
        _codex,
        oldest=(2, 6),
        asks=False,
        compact="/compact",
    ),
}
DEFAULT: Final = "opencode"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent to start, and how its session is set up."""

    name: str
    command: tuple[str, ...]
    setup: Setup
    compact: str = ""
    install: str = ""
    oldest: tuple[int, ...] = ()

    def check(self, version: str) -> None:
        """Raise UnavailableError if the agent is too old, by the version that it reports."""
        found = tuple(map(int, re.findall(r"\d+", version)[:2]))
        if found < self.oldest:
            oldest = ".".join(map(str, self.oldest))
            raise UnavailableError(
                f"{self.name} has version {version or 'unknown'}; at least {oldest} is needed",
                hint=self.install,
            )


def choose(spec: SessionSpec, *, toolless: bool = False) -> Agent:
    """Choose by the name of a profile, or by a command, which is a profile's if its program has that name."""
    command = spec.command or (DEFAULT,)
    name = Path(command[0]).name
    profile = PROFILES.get(name)
    is_judged = profile is not None and (profile.asks or toolless)
    if spec.judge is not None and not is_judged:
        known = ", ".join(name for name, profile in PROFILES.items() if profile.asks)
        raise NotAllowedError(
            f"this permission_mode needs an agent that asks before all it does; '{name}' may not",
            hint=f"these ask: {known}",
        )
    if profile is None:
        return Agent(name, command, Setup())
    setup = profile.set_up(spec, toolless)
    whole = profile.command if len(command) == 1 and command[0] == name else command
    command = (*whole, *setup.arguments)
    return Agent(name, command, setup, profile.compact, profile.install, profile.oldest)
