"""Give each agent the files of the Unix user that all agents shared in version 0.1."""

import pwd
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.paths import SYSTEM_RUNTIME
from culture.errors import UnavailableError
from culture.names import agent_user

SHARED_USER: Final = "culture-agent"


def hand_over_files(config: AgentsConfig) -> Iterator[str]:
    """Change the owner of open sockets and of directories to work in, and say which.

    systemd does the same for the state of an agent when it starts. A directory that several agents work in
    stays as it is: only a person knows whose it is to be.
    """
    agents = [agent for agent in config.agents if not agent.user]
    times = Counter(place for agent in agents for place in _directories(agent))
    for agent in agents:
        sockets = [str(SYSTEM_RUNTIME / f"{agent.nick}.sock")]
        for place in [*sockets, *(each for each in _directories(agent) if times[each] == 1)]:
            if _is_shared(Path(place)):
                user = agent_user(agent.nick)
                _run("systemctl", "start", f"culture-agent-user@{agent.nick}.service")
                _run("chown", "--recursive", f"--from={SHARED_USER}", f"{user}:{user}", "--", place)
                yield f"{place} belongs to {user}"


def _directories(agent: AgentConfig) -> list[str]:
    return [place for place in dict.fromkeys((agent.directory, *agent.writable)) if place]


def _is_shared(path: Path) -> bool:
    try:
        return path.lstat().st_uid == pwd.getpwnam(SHARED_USER).pw_uid
    except (KeyError, OSError):
        return False


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"'{' '.join(command)}' failed: {error.stderr.strip()}") from None
    except OSError as error:
        raise UnavailableError(f"cannot run {command[0]}: {error.strerror}") from None
