"""The runner of codex."""

import os

from culture.agent.backends.codex import settings
from culture.agent.backends.codex.session import CodexSession
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.backends.toolless import SessionModel
from culture.agent.contract import AgentRunnerBase, SessionSpec, ToollessModel


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for an agent's session."""
    speaker = Speaker(
        "codex",
        settings.command(spec, {**os.environ, **spec.env}),
        settings.INSTALL,
        lambda program, tell: CodexSession(program, spec, tell),
        make_toolless=make_toolless,
        can_fork=True,
    )
    return JsonRpcRunner(spec, speaker)


def make_toolless(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for a session without tools, which forks the thread that it is to resume."""
    speaker = Speaker(
        "codex",
        settings.command(spec, {**os.environ, **spec.env}, toolless=True),
        settings.INSTALL,
        lambda program, tell: CodexSession(program, spec, tell, toolless=True),
    )
    return JsonRpcRunner(spec, speaker)


def make_model(spec: SessionSpec) -> ToollessModel:
    """Return a model for single calls without tools."""
    return SessionModel(spec, make_toolless)
