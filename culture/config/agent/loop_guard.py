"""Model of `loop_guard:` in agents.yaml: how long agents may talk to each other without a person."""

from dataclasses import dataclass

from culture.config.rules import at_least, checked


@dataclass(frozen=True, slots=True)
class LoopGuardConfig:
    """The limits of one conversation since a person last spoke in it. 0 switches a limit off."""

    # How often one agent may take over from another before an agent that is called stands down.
    hops: int = checked(at_least(0), default=6)
    # How often an agent may call this one with nearly the same text again.
    repeats: int = checked(at_least(0), default=3)
    # How often one agent, and all agents of a channel together, may call this one within `window_s`.
    calls_per_agent: int = checked(at_least(0), default=20)
    calls_per_channel: int = checked(at_least(0), default=60)
    window_s: float = checked(at_least(1), default=600.0)
