"""Read the credentials that systemd passes to a service (LoadCredential=)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from culture.errors import ConfigError, Problem

# The ids of LoadCredential= and LoadCredentialEncrypted= in our units. Each loads a directory, of which every
# file becomes a credential `<id>_<file>`. The id alone is the fallback for a directory that does not exist.
DIRECTORY_IDS: Final = ("culture", "secret")

# Where systemd takes the credentials of the server from.
SERVER_DIRECTORY: Final = Path("/etc/culture/credentials")
_OF_AGENTS: Final = "agents"
_ENCRYPTED: Final = Path("/etc/culture/credentials.encrypted")


def agent_directory(nick: str) -> Path:
    """Return where systemd takes the credentials of this agent from."""
    return SERVER_DIRECTORY / _OF_AGENTS / nick


def bridge_directory() -> Path:
    """Return where systemd takes the credentials of the bridge from."""
    return SERVER_DIRECTORY / "bridge"


def encrypted_agent_directory(nick: str) -> Path:
    """Return the same for credentials that `systemd-creds encrypt` made."""
    return _ENCRYPTED / _OF_AGENTS / nick


def read_credential(name: str, env: Mapping[str, str], source: Path = SERVER_DIRECTORY) -> str:
    """Return the secret of this name, without the newline that editors leave at its end.

    `source` is the directory that people put the file into, for the hint.
    """
    directory = env.get("CREDENTIALS_DIRECTORY")
    if directory is None:
        raise _problem(
            name, "there is no $CREDENTIALS_DIRECTORY", f"CREDENTIALS_DIRECTORY=DIR with DIR/{name}"
        )
    for file in _files(name):
        path = Path(directory, file)
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except FileNotFoundError:
            continue
        except UnicodeDecodeError as error:
            raise _problem(name, f"is not UTF-8 at byte {error.start}", f"file {path}") from None
        except OSError as error:
            raise _problem(name, f"cannot be read: {error.strerror}", f"sudo ls -l {path}") from None
    raise _problem(name, f"is not in '{directory}'", how_to_add(name, source))


def how_to_add(name: str, source: Path) -> str:
    """Return a hint that says how to add a missing credential."""
    return f"put it into {source / name}, mode 0600, and restart the service"


def _files(name: str) -> list[str]:
    """Return the file names that a credential may have in $CREDENTIALS_DIRECTORY."""
    loaded = [f"{each}_{name}" for each in DIRECTORY_IDS]
    return loaded if name in DIRECTORY_IDS else [*loaded, name]


def _problem(name: str, what: str, hint: str) -> ConfigError:
    return ConfigError([Problem(f"credential '{name}'", what, hint)])
