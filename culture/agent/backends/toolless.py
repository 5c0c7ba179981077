"""Ask a backend without tools: as a supervisor's model, and beside the turn of an agent."""

from collections.abc import Callable
from dataclasses import replace

from culture.agent.backends.one_shot import ask_once
from culture.agent.contract import (
    AgentRunnerBase,
    PermissionRequest,
    SessionSpec,
    SideAnswer,
    ToollessModel,
)

# Makes a runner whose session offers as few tools as the backend can, and is not kept.
MakeToolless = Callable[[SessionSpec], AgentRunnerBase]


async def refuse_all(request: PermissionRequest) -> tuple[bool, str]:
    """Refuse every tool call: the judge of a session that must not do anything."""
    return False, "You have no tools here. Answer in words."


def toolless_spec(spec: SessionSpec, system: str, *, resume: str = "") -> SessionSpec:
    """Return the settings of a session that does nothing but answer."""
    return replace(
        spec, briefing=system, judge=refuse_all, is_locked=True, tools=(), resume=resume, deferrals=None
    )


class SessionModel(ToollessModel):
    """A model that is asked by a session of a backend's program, which ends after each call."""

    def __init__(self, spec: SessionSpec, make: MakeToolless) -> None:
        self._spec = spec
        self._make = make

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        return await ask_once(self._make(toolless_spec(self._spec, system)), prompt)
