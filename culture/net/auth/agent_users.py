"""Map the Unix users of this machine to the agents that run as them.

The agent `spark-claude` runs as the Unix user `culture-spark-claude`, which
`culture-agent-user@spark-claude.service` creates. `agents.yaml`, beside ircd.yaml, lists the agents,
and those that run as a person's user instead (`user:`). A user `culture-NICK` is an agent if NICK is listed
there or begins with the name of this host; `culture-team` and `culture-agent` are not agents.
"""

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from culture.config.agents import AgentUser, read_agent_users
from culture.errors import NoInputError
from culture.ircd.auth.agents import AgentNick
from culture.names import AGENT_USER_PREFIX, Folded, fold, has_prefix, is_agent_nick

log = logging.getLogger(__name__)

PASSWD: Final = Path("/etc/passwd")
# The shared user of agents on hosts that an earlier version set up.
SHARED_USER: Final = "culture-agent"


# Identifies a version of a file: inode, modification time and size.
_Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Users:
    """The contents of /etc/passwd at the last read."""

    version: _Version | None = None
    by_name: dict[str, int] = field(default_factory=dict)
    by_uid: dict[int, str] = field(default_factory=dict)
    # The nicks of agents by their own Unix users, and the other way round.
    agents: dict[int, str] = field(default_factory=dict)
    own_users: dict[Folded, int] = field(default_factory=dict)


class AgentUsers:
    """Looks up agents by Unix user; re-reads /etc/passwd and agents.yaml when they change."""

    def __init__(
        self,
        host: str,
        agents: Iterable[AgentUser] = (),
        *,
        agents_file: Path | None = None,
        passwd: Path = PASSWD,
        own_uid: int | None = None,
    ) -> None:
        """`agents_file` is agents.yaml. `own_uid` is the user that the server runs as."""
        self._host = host
        self._passwd, self._file = passwd, os.fspath(passwd)
        self._own_uid = os.getuid() if own_uid is None else own_uid
        self._configured: dict[Folded, AgentUser] = {}
        self._agents_file = agents_file
        self._agents_version: _Version | None = None
        self._known = _Users()
        self._configure(agents)
        self._follow_agents_file()

    def _configure(self, agents: Iterable[AgentUser]) -> None:
        self._configured = {fold(agent.nick): agent for agent in agents}
        self._known = _Users()

    def _follow_agents_file(self) -> None:
        """Read agents.yaml again if it changed. One that cannot be read changes nothing."""
        if self._agents_file is None:
            return
        try:
            version = _version_of(self._agents_file)
        except FileNotFoundError:
            version = None
        except OSError:
            # The file cannot be examined: read_agent_users reports why.
            version = (0, 0, 0)
        if version == self._agents_version:
            return
        self._agents_version = version
        try:
            self._configure(read_agent_users(self._agents_file))
        except NoInputError as error:
            log.warning("keeping the agents that are already known: %s", error)

    @property
    def are_configured(self) -> bool:
        """Return whether there are agents at all; without any, TCP connections need no user lookup."""
        return bool(self._users.agents or self._configured)

    @property
    def have_own_users(self) -> bool:
        """Return whether any agent runs as a Unix user of its own."""
        return bool(self._users.agents)

    def agent_of(self, uid: int | None) -> str | None:
        """Return the nick of the agent whose own Unix user this is."""
        return self._users.agents.get(uid) if uid is not None else None

    def is_administrator(self, uid: int | None) -> bool:
        """Return whether this is root or the user that the server runs as."""
        return uid is not None and uid in (0, self._own_uid)

    def name_of(self, uid: int | None) -> str:
        """Return the user's name for the journal, or its number if it has no name."""
        return "" if uid is None else self._users.by_uid.get(uid, str(uid))

    def find(self, nick: str) -> AgentNick | None:
        """Return the users that may use an agent's nick, or None if it is not an agent's."""
        users, key = self._users, fold(nick)
        agent, own = self._configured.get(key), users.own_users.get(key)
        if agent is not None and agent.user:
            uids = {users.by_name.get(agent.user), own} - {None}
            return AgentNick(agent.nick, frozenset(uid for uid in uids if uid is not None), False)
        if own is not None:
            return AgentNick(users.agents[own], frozenset({own}), True)
        if agent is not None:
            shared = users.by_name.get(SHARED_USER, self._own_uid)
            return AgentNick(agent.nick, frozenset({self._own_uid, shared}), False)
        return None

    def runs_as(self, uid: int) -> bool:
        """Return whether an agent of this host runs as this Unix user, its own or a person's."""
        if uid in self._users.agents:
            return True
        found = (self.find(nick) for nick in self._configured)
        return any(agent is not None and uid in agent.uids for agent in found)

    @property
    def _users(self) -> _Users:
        self._follow_agents_file()
        try:
            version = _version_of(self._file)
            if version != self._known.version:
                self._known = self._read(version)
        except OSError:
            # The file is being replaced: keep the last known users.
            pass
        return self._known

    def _read(self, version: _Version) -> _Users:
        users = _Users(version)
        for line in self._passwd.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, uid, *_ = [*line.split(":"), "", "", ""]
            if not uid.isdecimal():
                continue
            users.by_name.setdefault(name, int(uid))
            # As in getpwuid(3), the first of two names for one uid counts.
            if users.by_uid.setdefault(int(uid), name) == name and (nick := self._nick_of(name)) and int(uid):
                users.agents[int(uid)] = nick
                users.own_users[fold(nick)] = int(uid)
        return users

    def _nick_of(self, name: str) -> str | None:
        nick = name.removeprefix(AGENT_USER_PREFIX)
        if nick == name or not is_agent_nick(nick):
            return None
        agent = self._configured.get(fold(nick))
        if agent is not None:
            return agent.nick
        return nick if has_prefix(nick, self._host) else None


def _version_of(file: str | Path) -> _Version:
    found = os.stat(file)
    return found.st_ino, found.st_mtime_ns, found.st_size
