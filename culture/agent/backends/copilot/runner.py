"""The runner of GitHub Copilot."""

import os
from typing import Final

from culture.agent.backends.copilot.session import CopilotSession
from culture.agent.backends.copilot.settings import make_settings
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.contract import AgentRunnerBase, SessionSpec

INSTALL: Final = "npm install -g @github/copilot"
_ARGUMENTS: Final = ("--headless", "--stdio", "--no-auto-update", "--log-level", "error")


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    settings = make_settings(spec, {**os.environ, **spec.env})
    speaker = Speaker(
        "copilot",
        (*(spec.command or ("copilot",)), *_ARGUMENTS, *_hidden(spec)),
        INSTALL,
        lambda program, tell: CopilotSession(program, spec, settings, tell),
    )
    return JsonRpcRunner(spec, speaker)


def _hidden(spec: SessionSpec) -> tuple[str, ...]:
    """Keep keys from commands and MCP servers, and out of what they print."""
    return (f"--secret-env-vars={','.join(spec.secret_variables)}",) if spec.secret_variables else ()
