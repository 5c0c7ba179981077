"""Make the environment of the backend's program: its skill first on PATH, its socket, no secrets of ours."""

import os
import pwd
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from culture.agent.tools.whispers import PROOF_VARIABLE
from culture.config.paths import state_dir
from culture.errors import ConfigError, NotAllowedError, Problem, UnavailableError

# Where the package keeps `irc`: in /usr/bin that name belongs to other programs.
SYSTEM_BIN: Final = Path("/usr/lib/culture/bin")

_OURS: Final = (
    "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
    "CREDENTIALS_DIRECTORY",
    # Tells the CLI that it may run unbounded as root. Whoever set it did not mean an agent.
    "IS_SANDBOX",
)  # fmt: skip


def drop_private_variables(env: MutableMapping[str, str]) -> None:
    """Drop from our own environment what is for the daemon alone: the backend's program inherits the rest."""
    for name in _OURS:
        env.pop(name, None)


def session_environment(
    nick: str, socket: Path, irc: Path, keys: Mapping[str, str], env: Mapping[str, str], proof: str
) -> dict[str, str]:
    """Return a session's variables. `irc` is the directory of the skill's program; empty keys are left out.

    The proof shows the daemon that a call of the skill is the agent's own.
    """
    own = {
        "CULTURE_NICK": nick,
        "CULTURE_SOCKET": str(socket),
        PROOF_VARIABLE: proof,
        "PATH": os.pathsep.join([str(irc), env.get("PATH", os.defpath)]),
    }
    return {**own, **{name: key for name, key in keys.items() if key}}


def irc_directory(executable: Path, program: Path, system: Path = SYSTEM_BIN) -> Path:
    """Return the directory of our own `irc`: of the virtual environment, the package or this program."""
    in_environment = [executable.parent] if (executable.parent.parent / "pyvenv.cfg").is_file() else []
    for directory in (*in_environment, system, program.absolute().parent):
        if os.access(directory / "irc", os.X_OK):
            return directory
    raise UnavailableError("the program 'irc' is not installed", hint="install culture again")


def agent_state_directory(nick: str, env: Mapping[str, str]) -> Path:
    """Return the directory of an agent's own files: its queue, and its work if nothing else is configured."""
    # A unit's state directory is the agent's alone; a person's is that of all agents.
    state = state_dir("", env)
    return state if env.get("STATE_DIRECTORY") else state / "agents" / nick


def check_directory(path: str, nick: str) -> None:
    """Refuse a directory of agents.yaml that does not exist or that we cannot enter.

    Also what exists may be missing here: the unit shows an agent only what `culturectl units` was told.
    """
    if os.access(path, os.X_OK) and os.path.isdir(path):
        return
    if os.path.isdir(path):
        what = (
            f"user '{pwd.getpwuid(os.geteuid()).pw_name}' may not enter directory '{path}' of agent '{nick}'"
        )
        raise ConfigError([Problem("agents.yaml", what, f"sudo ls -ld {path}")])
    what = f"directory '{path}' of agent '{nick}' is not there"
    raise ConfigError([Problem("agents.yaml", what, f"mkdir {path}; if it exists: culturectl units")])


def working_directory(configured: str, nick: str, env: Mapping[str, str]) -> Path:
    """Return the configured directory, or one of the agent's own, apart from its backend's home."""
    if configured:
        check_directory(configured, nick)
        return Path(configured)
    own = agent_state_directory(nick, env)
    try:
        (own / "work").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = f"set directory of agent '{nick}' to one that can be written"
        raise NotAllowedError(f"cannot make '{own / 'work'}': {error.strerror}", hint=hint) from None
    return own / "work"
