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

    def runs_as(self, uid: int) -> bool:
        """Return whether an agent of this host runs as this Unix user, its own or a person's."""
        ...


class _NoAgents:
    def find(self, nick: str) -> AgentNick | None:
        return None

    def runs_as(self, uid: int) -> bool:
        return False


NO_AGENTS: Final[AgentNicks] = _NoAgents()
