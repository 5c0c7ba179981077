"""The levels of `thinking` in agents.yaml, for agents and for their supervisors."""

from typing import Literal

EffortLevel = Literal["off", "low", "medium", "high", "max"]
# ultrathink is another word for max.
ThinkingLevel = Literal["off", "low", "medium", "high", "max", "ultrathink"]


def effort_of(thinking: ThinkingLevel) -> EffortLevel:
    """Return the effort that a backend is asked for."""
    return "max" if thinking == "ultrathink" else thinking
