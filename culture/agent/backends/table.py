"""The backends by their names in agents.yaml. A new one is a module and a row."""

from collections.abc import Callable

from culture.agent.contract import AgentRunnerBase, SessionSpec
from culture.errors import UnavailableError


def _claude(spec: SessionSpec) -> AgentRunnerBase:
    try:
        # An optional dependency, and a heavy one; nobody else waits for it.
        from culture.agent.backends.claude.runner import ClaudeRunner
    except ModuleNotFoundError as error:
        hint = "apt install culture-claude, or pip install 'culture[claude]'"
        raise UnavailableError(f"the Python module '{error.name}' is missing", hint=hint) from None
    return ClaudeRunner(spec)


BACKENDS: dict[str, Callable[[SessionSpec], AgentRunnerBase]] = {"claude": _claude}
