"""The runner of GitHub Copilot."""

import os
from typing import Final

from culture.agent.backends.copilot.session import Session
from culture.agent.backends.copilot.settings import make_settings
from culture.agent.backends.spoken import Speaker, SpokenRunner
from culture.agent.contract import AgentRunnerBase, SessionSpec

INSTALL: Final = "npm install -g @github/copilot"
_ARGUMENTS: Final = ("--headless", "--stdio", "--no-auto-update", "--log-level", "error")


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    settings = make_settings(spec, {**os.environ, **spec.env})
    speaker = Speaker(
        "copilot",
        (*(spec.command or ("copilot",)), *_ARGUMENTS),
        INSTALL,
        lambda program, tell: Session(program, spec, settings, tell),
    )
    return SpokenRunner(spec, speaker)
