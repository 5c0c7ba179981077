"""Private messages of a supervisor to its agent, queued until the agent next uses its irc skill."""

from collections import deque
from typing import Final, NamedTuple

from culture.agent.contract import Effort

# Environment variable with the proof that a request on the socket comes from the agent's own processes.
PROOF_VARIABLE: Final = "CULTURE_WHISPERS"
# The oldest whispers are dropped beyond this number, because the newest ones matter most.
MAX_WAITING: Final = 20
# The kind of whisper that raises the effort of one turn.
THINK_DEEPER: Final = "THINK_DEEPER"


class Whisper(NamedTuple):
    """One message of a supervisor to its agent."""

    # CORRECTION, THINK_DEEPER, ESCALATION.
    kind: str
    text: str

    def __str__(self) -> str:
        return f"[SUPERVISOR/{self.kind}] {self.text}"


class TurnAdvice(NamedTuple):
    """What a supervisor has for the next turn: whispers that were not read, and the effort."""

    whispers: list[Whisper]
    # None: the effort of the session.
    effort: Effort | None


class Whispers:
    """A bounded queue of whispers."""

    def __init__(self) -> None:
        self._waiting: deque[Whisper] = deque(maxlen=MAX_WAITING)
        # Whether the agent was told to think deeper since its last turn began.
        self._is_deeper = False

    def add(self, text: str, kind: str) -> None:
        """Queue a whisper, as one line."""
        self._waiting.append(Whisper(kind, " ".join(text.split())))
        self._is_deeper = self._is_deeper or kind == THINK_DEEPER

    def take(self) -> list[Whisper]:
        """Remove and return all queued whispers, the oldest first."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def take_for_turn(self) -> TurnAdvice:
        """Remove all queued whispers and return them with the effort of the turn that begins now."""
        effort: Effort | None = "max" if self._is_deeper else None
        self._is_deeper = False
        return TurnAdvice(self.take(), effort)

    def put_back(self, whispers: list[Whisper]) -> None:
        """Put whispers that could not be delivered back at the front of the queue."""
        self._waiting.extendleft(reversed(whispers))
