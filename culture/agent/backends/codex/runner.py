"""The runner of codex."""

import os

from culture.agent.backends.codex import settings
from culture.agent.backends.codex.session import CodexSession
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.contract import AgentRunnerBase, SessionSpec


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    command = settings.command(spec, {**os.environ, **spec.env})
    speaker = Speaker(
        "codex", command, settings.INSTALL, lambda program, tell: CodexSession(program, spec, tell)
    )
    return JsonRpcRunner(spec, speaker)
