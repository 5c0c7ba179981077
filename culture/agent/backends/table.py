"""The backends by their names in agents.yaml. How to add one: docs/howto/backends.md."""

import contextlib
import os
from collections.abc import Callable, Iterator

from culture.agent.backends.acp import runner as acp
from culture.agent.backends.codex import runner as codex
from culture.agent.backends.codex import settings
from culture.agent.backends.copilot import runner as copilot
from culture.agent.backends.programs import INSTALL_CLAUDE_SDK
from culture.agent.contract import AgentRunnerBase, SessionSpec, ToollessModel
from culture.errors import UnavailableError


def _claude(spec: SessionSpec) -> AgentRunnerBase:
    with _needing_sdk():
        # An optional dependency, and a heavy one; nobody else waits for it.
        from culture.agent.backends.claude.runner import ClaudeRunner
    return ClaudeRunner(spec)


def _toolless_claude(spec: SessionSpec) -> ToollessModel:
    # aiohttp takes a tenth of a second to load. It also loads attrs, of which the vendored SDK needs its own.
    from culture.agent.backends.messages_api import MessagesApiModel, login_headers

    env = {**os.environ, **spec.env}
    if login_headers(env):
        return MessagesApiModel(spec, env)
    with _needing_sdk():
        # As above.
        from culture.agent.backends.claude.toolless import ClaudeCliModel
    return ClaudeCliModel(spec)


@contextlib.contextmanager
def _needing_sdk() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        missing = f"the Python module '{error.name}' is missing"
        raise UnavailableError(missing, hint=INSTALL_CLAUDE_SDK) from None


# The variable that each program reads its key from, unless agents.yaml says otherwise.
KEY_VARIABLES = {
    "acp": "ANTHROPIC_API_KEY",
    "claude": "ANTHROPIC_API_KEY",
    "codex": settings.KEY,
    "copilot": "COPILOT_GITHUB_TOKEN",
}

# Other variables in which each program may find a key or a login.
_OTHER_KEYS = {
    "acp": (),
    "claude": ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    "codex": ("CODEX_API_KEY",),
    "copilot": ("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"),
}


def key_variables(agent: str, configured: str) -> tuple[str, ...]:
    """Return the variables that may hold the key: for the backend's program, and not for what it runs."""
    return (configured or KEY_VARIABLES[agent], *_OTHER_KEYS[agent])


BACKENDS: dict[str, Callable[[SessionSpec], AgentRunnerBase]] = {
    "acp": acp.make_runner,
    "claude": _claude,
    "codex": codex.make_runner,
    "copilot": copilot.make_runner,
}

# Models for single calls without tools, such as those of a supervisor. These settings of a session count:
# model, thinking, env, directory and command.
TOOLLESS: dict[str, Callable[[SessionSpec], ToollessModel]] = {
    "claude": _toolless_claude,
    "codex": codex.make_model,
    "copilot": copilot.make_model,
    "acp": acp.make_model,
}
