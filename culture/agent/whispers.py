"""What a supervisor says to its agent alone: kept until the agent's next call of its skill."""

from collections import deque
from typing import Final, NamedTuple

MOST: Final = 20
"""Beyond that the oldest goes: an agent that called nothing for so long is told what holds now."""


class Whisper(NamedTuple):
    # CORRECTION, THINK_DEEPER, ESCALATION.
    kind: str
    text: str

    def __str__(self) -> str:
        return f"[SUPERVISOR/{self.kind}] {self.text}"


class Whispers:
    def __init__(self) -> None:
        self._waiting: deque[Whisper] = deque(maxlen=MOST)

    def add(self, text: str, kind: str) -> None:
        self._waiting.append(Whisper(kind, " ".join(text.split())))

    def take(self) -> list[Whisper]:
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def put_back(self, whispers: list[Whisper]) -> None:
        """They did not arrive."""
        self._waiting.extendleft(reversed(whispers))
