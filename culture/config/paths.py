"""Find configuration, state and sockets: below /etc and /run for services, below ~/.culture for a person."""

import os
from collections.abc import Mapping
from pathlib import Path

from culture.errors import NotAllowedError

PACKAGE = Path(__file__).resolve().parent.parent
SYSTEM_CONFIG = Path("/etc/culture")
SYSTEM_RUNTIME = Path("/run/culture")
SYSTEM_STATE = Path("/var/lib/culture")
# In the server's state directory: the key by which the server knows its own events again.
PROOF_KEY = "proof.key"
# In the server's state directory: how its links are, written every second, for `culturectl list-links`.
LINKS = "links.json"
# Python packages that the distribution does not have, as the culture-claude package brings them.
VENDOR = Path("/usr/lib/culture/vendor")


def home(env: Mapping[str, str]) -> Path:
    """Return the directory of a person's own files: $CULTURE_HOME, or ~/.culture."""
    return Path(env.get("CULTURE_HOME") or Path(env.get("HOME", "/"), ".culture"))


def means_installation(env: Mapping[str, str]) -> bool:
    """Return whether the installation is meant: root means it on an installed host.

    $CULTURE_HOME selects another place.
    """
    if env.get("CULTURE_HOME") or os.geteuid() != 0:
        return False
    return any((SYSTEM_CONFIG / name).exists() for name in ("ircd.yaml", "agents.yaml"))


def config_file(name: str, env: Mapping[str, str]) -> Path:
    """Return the path of a configuration file: a person's own file if it exists, otherwise the system's."""
    own = home(env) / name
    return own if own.exists() and not means_installation(env) else SYSTEM_CONFIG / name


def state_dir(configured: str, env: Mapping[str, str]) -> Path:
    """Return the state directory: the configured one, systemd's (StateDirectory=), or a person's own."""
    if configured:
        return Path(configured)
    return Path(env["STATE_DIRECTORY"]) if env.get("STATE_DIRECTORY") else home(env) / "state"


def make_state_dir(configured: str, env: Mapping[str, str]) -> Path:
    """Return the state directory and create it if needed."""
    path = state_dir(configured, env)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "set state_dir in ircd.yaml to a directory that can be written"
        raise NotAllowedError(f"cannot make '{path}': {error.strerror}", hint=hint) from None
    return path


def runtime_dir(env: Mapping[str, str]) -> Path | None:
    """Return the directory for files that do not outlive a boot (RuntimeDirectory=)."""
    first = env.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    return Path(first) if first else None


def server_state_dir(configured: str, config: Path, env: Mapping[str, str]) -> Path:
    """Return the server's state directory, as seen from outside of its unit."""
    if not configured and not env.get("STATE_DIRECTORY") and config.parent == SYSTEM_CONFIG:
        return SYSTEM_STATE / "ircd"
    return state_dir(configured, env)


def agent_socket(nick: str, env: Mapping[str, str]) -> Path:
    """Return the path of an agent's IPC socket."""
    if env.get("CULTURE_SOCKET"):
        return Path(env["CULTURE_SOCKET"])
    places = [SYSTEM_RUNTIME / f"{nick}.sock"]
    if means_installation(env):
        return places[0]
    places.append(home(env) / "run" / f"{nick}.sock")
    if runtime := env.get("XDG_RUNTIME_DIR"):
        places.append(Path(runtime, f"culture-{nick}.sock"))
    return next((place for place in places if place.exists()), places[-1])


def ledger_socket(env: Mapping[str, str]) -> Path:
    """Return the socket of culture-ledger: $CULTURE_LEDGER, or where its unit makes it."""
    return Path(env.get("CULTURE_LEDGER") or SYSTEM_RUNTIME / "ledger.sock")


def skel() -> Path:
    """Return the directory with templates and examples: in the tree, or inside the installed package."""
    in_tree = PACKAGE.parent / "skel"
    return in_tree if in_tree.is_dir() else PACKAGE / "skel"
