"""The runner of codex."""

import os

from culture.agent.backends.codex import settings
from culture.agent.backends.codex.session import Session
from culture.agent.backends.spoken import Speaker, SpokenRunner
from culture.agent.contract import AgentRunnerBase, SessionSpec


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    command = settings.command(spec, {**os.environ, **spec.env})
    speaker = Speaker("codex", command, settings.INSTALL, lambda program, tell: Session(program, spec, tell))
    return SpokenRunner(spec, speaker)
