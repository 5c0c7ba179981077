"""Ask a Claude model by Claude Code, for those who are logged in to a plan and have no API key."""

from culture.agent.backends.claude.aside import ask_once
from culture.agent.contract import SessionSpec, SideAnswer, ToollessModel


class ClaudeCliModel(ToollessModel):
    """Starts the program for each call, with its own system prompt, without tools, and ends it."""

    def __init__(self, spec: SessionSpec) -> None:
        self._spec = spec

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        return await ask_once(self._spec, system, prompt)
