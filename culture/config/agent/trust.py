"""Model of `trust:` in agents.yaml: whose answers to the questions of agents count."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from culture.config.rules import at_least, checked

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]{1,6})([smhd])")


def _check_duration(text: str) -> str | None:
    if _DURATION.fullmatch(text) and seconds_of(text):
        return None
    return f"'{text}' is not a time span, such as 90s, 30m, 12h or 2d"


def seconds_of(text: str) -> float:
    """Return the seconds of a time span such as 30m."""
    found = _DURATION.fullmatch(text)
    assert found is not None
    return float(int(found[1]) * _UNITS_S[found[2]])


@dataclass(frozen=True, slots=True)
class TrustConfig:
    """Who may answer the questions of agents."""

    # People always decide, at once, and override a vote of agents.
    humans: Literal["always"] = "always"
    # vote: the majority. first: the first agent. consensus: only if all agree. never: people only.
    agents: Literal["vote", "first", "consensus", "never"] = "vote"
    # How many agents must have answered before their vote or consensus counts.
    quorum: int = checked(at_least(1), default=2)
    # How long votes are collected, from the first one; people can step in meanwhile.
    window: str = checked(_check_duration, default="5m")
    # How long an answer may take before `timeout_action`. The question stays open after that.
    timeout: str = checked(_check_duration, default="30m")
    # What the agent does until the answer comes: wait, go on as after a no, or end the turn.
    timeout_action: Literal["pause", "deny", "abort"] = "pause"

    @property
    def window_s(self) -> float:
        """Return the window in seconds."""
        return seconds_of(self.window)

    @property
    def timeout_s(self) -> float:
        """Return the timeout in seconds."""
        return seconds_of(self.timeout)
