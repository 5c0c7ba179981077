"""The backends by their names in agents.yaml. How to add one: docs/howto/backends.md."""

from collections.abc import Callable

from culture.agent.backends.acp import runner as acp
from culture.agent.backends.codex import runner as codex
from culture.agent.backends.codex import settings
from culture.agent.backends.copilot import runner as copilot
from culture.agent.backends.programs import INSTALL_CLAUDE_SDK
from culture.agent.contract import AgentRunnerBase, SessionSpec
from culture.errors import UnavailableError


def _claude(spec: SessionSpec) -> AgentRunnerBase:
    try:
        # An optional dependency, and a heavy one; nobody else waits for it.
        from culture.agent.backends.claude.runner import ClaudeRunner
    except ModuleNotFoundError as error:
        missing = f"the Python module '{error.name}' is missing"
        raise UnavailableError(missing, hint=INSTALL_CLAUDE_SDK) from None
    return ClaudeRunner(spec)


# What each program reads its key from, unless agents.yaml says otherwise.
KEY_VARIABLES = {
    "acp": "ANTHROPIC_API_KEY",
    "claude": "ANTHROPIC_API_KEY",
    "codex": settings.KEY,
    "copilot": "COPILOT_GITHUB_TOKEN",
}

# What else each may find a key or a login in.
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
