"""Find what agents.yaml names and this host does not have: users, directories and credentials of agents."""

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl.files import below
from culture.errors import Problem, UnavailableError
from culture.names import agent_user
from culture.systemd.credentials import SERVER_DIRECTORY, agent_directory, encrypted_agent_directory

# Whether a user may write to a directory.
MayWrite = Callable[[str, str], bool]


def credential_names(config: AgentsConfig, agent: AgentConfig) -> list[str]:
    """Return the names of the credentials that an agent reads, each once."""
    judging = agent.supervisor.applied_to(config.supervisor)
    names = [
        agent.key_credential,
        agent.account_credential,
        config.server.password_credential,
        judging.key_credential if judging.enabled else "",
    ]
    return [name for name in dict.fromkeys(names) if name]


def find_missing(
    config: AgentsConfig, agent: AgentConfig, root: Path = Path("/"), *, may_write: MayWrite | None = None
) -> list[Problem]:
    """Return one problem for each thing that keeps the service from working. `root` is for tests."""
    may_write = may_write or _may_write
    problems = [*_users(agent), *_directories(agent, root, may_write), *_credentials(config, agent, root)]
    return [Problem(f"agent '{agent.nick}'", what, hint) for what, hint in problems]


def _users(agent: AgentConfig) -> Iterator[tuple[str, str]]:
    if agent.user and not _exists(agent.user):
        yield f"there is no user '{agent.user}'", f"useradd {agent.user}, or set another user in agents.yaml"


def _directories(agent: AgentConfig, root: Path, may_write: MayWrite) -> Iterator[tuple[str, str]]:
    user = agent.user or agent_user(agent.nick)
    for place in filter(None, (agent.directory, *agent.writable)):
        if not below(root, Path(place)).is_dir():
            yield f"the directory '{place}' does not exist", f"mkdir {place}"
        # The first start of an agent creates its user, and then checks the directories itself.
        elif _exists(user) and not may_write(user, place):
            yield f"the user '{user}' may not write to '{place}'", f"chown -R {user}: {place}"


def _credentials(config: AgentsConfig, agent: AgentConfig, root: Path) -> Iterator[tuple[str, str]]:
    own = agent_directory(agent.nick)
    places = [below(root, each) for each in (own, encrypted_agent_directory(agent.nick))]
    shared = below(root, SERVER_DIRECTORY)
    if shared.exists() and not os.access(shared, os.X_OK):
        # Only root can read the directory.
        return
    for name in credential_names(config, agent):
        if any((place / name).is_file() for place in places):
            continue
        is_shared = (shared / name).is_file()
        add, move = f"install -D -m 0600 /dev/stdin {own / name}", "culturectl units --upgrade"
        yield f"the credential '{name}' is not in {own}", move if is_shared else add


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _may_write(user: str, place: str) -> bool:
    """Test as that user. Assume yes if this process may not become that user."""
    command = ("runuser", "--user", user, "--", "test", "-w", place)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"cannot run runuser: {error}") from None
    return done.returncode == 0 or bool(done.stderr)
