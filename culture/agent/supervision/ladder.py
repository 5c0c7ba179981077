"""The escalation ladder: whisper, whisper more strongly, then call a person.

Evaluations that find a problem in a row climb the ladder; one that finds none leaves it. No single evaluation
pauses an agent, unless `escalation_threshold` is 1: an ESCALATION at the first one is a last warning.
"""

from dataclasses import dataclass
from typing import Final

from culture.agent.supervision.verdict import Verdict, VerdictKind

_AGAIN: Final = "This is still so after the last remark. {} Change your approach now, or ask for help."
_LAST: Final = "{} This is the last warning: if it goes on, you are paused and a person is called."


@dataclass(frozen=True, slots=True)
class Whispering:
    """Tell the agent alone."""

    kind: VerdictKind
    text: str


@dataclass(frozen=True, slots=True)
class Escalating:
    """Tell people, and pause the agent."""

    reason: str


Intervention = Whispering | Escalating


class Ladder:
    """Turns the verdicts about one agent into interventions."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        # How many evaluations in a row found a problem. An ESCALATION counts as all but one.
        self._strikes = 0
        # What the agent was told last; empty while it is not on the ladder.
        self.last_remark = ""

    def judged(self, verdict: Verdict) -> Intervention | None:
        """Take the verdict of an evaluation and return what is to be done about it."""
        if verdict.kind is VerdictKind.OK:
            self.reset()
            return None
        is_urgent = verdict.kind is VerdictKind.ESCALATION
        was_warned = self._strikes > 0
        self._strikes = max(self._strikes + 1, self._threshold - 1 if is_urgent else 0)
        self.last_remark = verdict.remark
        if self._strikes >= self._threshold or (is_urgent and was_warned):
            self.reset()
            return Escalating(verdict.remark)
        is_last = self._strikes == self._threshold - 1
        text = _AGAIN.format(verdict.remark) if was_warned else verdict.remark
        if is_last and (was_warned or is_urgent):
            text = _LAST.format(text)
        return Whispering(verdict.kind, text)

    def reset(self) -> None:
        """Forget earlier problems."""
        self._strikes = 0
        self.last_remark = ""
