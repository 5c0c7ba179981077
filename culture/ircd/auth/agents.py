"""Nicks that belong to agents of this host."""

from dataclasses import dataclass
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class AgentNick:
    """The nick of an agent, which nobody else may use."""

    nick: str
    # The Unix users, by number, whose connections may use the nick without logging in.
    uids: frozenset[int]
    # Whether the agent has a Unix user of its own. Then only that user can log in to its account.
    has_own_user: bool


class AgentNicks(Protocol):
    """Finds the agent that owns a nick."""

    def find(self, nick: str) -> AgentNick | None:
        """Return the agent with this nick, connected or not, if there is one."""
        ...


class _NoAgents:
    def find(self, nick: str) -> AgentNick | None:
        return None


NO_AGENTS: Final[AgentNicks] = _NoAgents()
