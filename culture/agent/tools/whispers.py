"""Private messages of a supervisor to its agent, queued until the agent next uses its irc skill."""

from collections import deque
from typing import Final, NamedTuple

# Environment variable with the proof that a request on the socket comes from the agent's own processes.
PROOF_VARIABLE: Final = "CULTURE_WHISPERS"
# The oldest whispers are dropped beyond this number, because the newest ones matter most.
MAX_WAITING: Final = 20


class Whisper(NamedTuple):
    """One message of a supervisor to its agent."""

    # CORRECTION, THINK_DEEPER, ESCALATION.
    kind: str
    text: str

    def __str__(self) -> str:
        return f"[SUPERVISOR/{self.kind}] {self.text}"


class Whispers:
    """A bounded queue of whispers."""

    def __init__(self) -> None:
        self._waiting: deque[Whisper] = deque(maxlen=MAX_WAITING)

    def add(self, text: str, kind: str) -> None:
        """Queue a whisper, as one line."""
        self._waiting.append(Whisper(kind, " ".join(text.split())))

    def take(self) -> list[Whisper]:
        """Remove and return all queued whispers, the oldest first."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def put_back(self, whispers: list[Whisper]) -> None:
        """Put whispers that could not be delivered back at the front of the queue."""
        self._waiting.extendleft(reversed(whispers))
