"""Model of `supervisor:` and `heartbeat:` in agents.yaml: what watches an agent and what reminds it."""

from dataclasses import dataclass, fields, replace
from typing import Final

from culture.config.agent.thinking import ThinkingLevel
from culture.config.rules import at_least, checked, credential_name

BACKENDS: Final = ("claude", "codex", "copilot", "acp")


def _check_backend(name: str | None) -> str | None:
    return None if not name or name in BACKENDS else f"'{name}' is not a backend: {', '.join(BACKENDS)}"


def _check_share(share: float) -> str | None:
    return None if 0 <= share < 1 else f"must be from 0 to below 1, is {share:g}"


def _check_count(count: int | None) -> str | None:
    return None if count is None else at_least(1)(count)


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    """The supervisor of each agent of this host."""

    # `supervisor: off` is short for `enabled: false`.
    enabled: bool = True
    # The backend of the model that judges; empty: that of the agent.
    agent: str = checked(_check_backend, default="")
    # Empty: the model of the agent if the backend is the same, otherwise what the backend uses by default.
    model: str = ""
    thinking: ThinkingLevel = "low"
    # The credential with the key of the judging backend; empty: the agent's key if the backend is the same,
    # otherwise that backend's own login.
    key_credential: str = checked(credential_name, default="")
    # How many of the agent's last steps are judged.
    window_size: int = checked(_check_count, default=20)
    # After how many steps they are judged again.
    eval_interval: int = checked(_check_count, default=5)
    # How many evaluations in a row find a problem until a person is called.
    escalation_threshold: int = checked(_check_count, default=3)


@dataclass(frozen=True, slots=True)
class SupervisorOverride:
    """What is different about the supervisor of one agent; None: what `supervisor:` at the top says."""

    enabled: bool | None = None
    agent: str | None = checked(_check_backend, default=None)
    model: str | None = None
    thinking: ThinkingLevel | None = None
    key_credential: str | None = checked(lambda name: credential_name(name or ""), default=None)
    window_size: int | None = checked(_check_count, default=None)
    eval_interval: int | None = checked(_check_count, default=None)
    escalation_threshold: int | None = checked(_check_count, default=None)

    def applied_to(self, general: SupervisorConfig) -> SupervisorConfig:
        """Return the settings of one agent."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(general, **{name: value for name, value in own.items() if value is not None})


@dataclass(frozen=True, slots=True)
class HeartbeatConfig:
    """What a working agent is reminded of, without a model. Everything is off by default."""

    # Remind an agent that has not read its channels for so many seconds of a turn; 0: never.
    check_in_s: float = checked(at_least(0), default=0.0)
    # Advise an agent to compact its context when so large a share of it is used; 0: never.
    compact_at: float = checked(_check_share, default=0.0)
