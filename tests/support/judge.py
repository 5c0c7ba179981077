"""A judge whose verdicts a test decides: the double at the model's edge."""

from collections.abc import Callable

from culture.agent.contract import SideAnswer, ToollessModel, Usage
from culture.errors import CultureError


class ScriptedJudge(ToollessModel):
    """Answers each prompt by a function of it and keeps all prompts."""

    def __init__(self, decide: Callable[[str], str] = lambda prompt: "OK") -> None:
        self.decide = decide
        self.prompts: list[str] = []
        self.error: CultureError | None = None

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        self.prompts.append(prompt)
        if self.error is not None:
            raise self.error
        return SideAnswer(self.decide(prompt), Usage(len(system + prompt) // 4, 0, 20), 0.001)
