"""The runner of GitHub Copilot."""

import os
from typing import Final

from culture.agent.backends.copilot.session import CopilotSession
from culture.agent.backends.copilot.settings import make_settings
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.backends.toolless import SessionModel
from culture.agent.contract import AgentRunnerBase, SessionSpec, ToollessModel

INSTALL: Final = "npm install -g @github/copilot"
_ARGUMENTS: Final = ("--headless", "--stdio", "--no-auto-update", "--log-level", "error")


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for an agent's session."""
    return _runner(spec, toolless=False)


def make_toolless(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for a session without tools."""
    return _runner(spec, toolless=True)


def make_model(spec: SessionSpec) -> ToollessModel:
    """Return a model for single calls without tools."""
    return SessionModel(spec, make_toolless)


def _runner(spec: SessionSpec, *, toolless: bool) -> AgentRunnerBase:
    settings = make_settings(spec, {**os.environ, **spec.env}, toolless=toolless)
    speaker = Speaker(
        "copilot",
        (*(spec.command or ("copilot",)), *_ARGUMENTS, *_hidden(spec)),
        INSTALL,
        lambda program, tell: CopilotSession(program, spec, settings, tell),
        make_toolless=None if toolless else make_toolless,
    )
    return JsonRpcRunner(spec, speaker)


def _hidden(spec: SessionSpec) -> tuple[str, ...]:
    """Keep keys from commands and MCP servers, and out of what they print."""
    return (f"--secret-env-vars={','.join(spec.secret_variables)}",) if spec.secret_variables else ()
