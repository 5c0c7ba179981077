"""Secrets, as the service manager hands them over (LoadCredential=)."""

from collections.abc import Mapping
from pathlib import Path

from culture.errors import ConfigError, Problem

# One LoadCredential= line loads the whole directory; systemd joins its id and the file's name so.
DIRECTORY_ID = "culture"


def read_credential(name: str, env: Mapping[str, str]) -> str:
    """The secret of this name, without the newline that editors leave at its end."""
    directory = env.get("CREDENTIALS_DIRECTORY")
    if directory is None:
        raise _problem(
            name, "there is no $CREDENTIALS_DIRECTORY", f"CREDENTIALS_DIRECTORY=DIR with DIR/{name}"
        )
    for path in (Path(directory, f"{DIRECTORY_ID}_{name}"), Path(directory, name)):
        try:
            return path.read_text(encoding="utf-8").rstrip("\n")
        except FileNotFoundError:
            continue
        except UnicodeDecodeError as error:
            raise _problem(name, f"is not UTF-8 at byte {error.start}", f"file {path}") from None
        except OSError as error:
            raise _problem(name, f"cannot be read: {error.strerror}", f"sudo ls -l {path}") from None
    hint = f"put it into /etc/culture/credentials/{name}, mode 0600, and restart the service"
    raise _problem(name, f"is not in '{directory}'", hint)


def _problem(name: str, what: str, hint: str) -> ConfigError:
    return ConfigError([Problem(f"credential '{name}'", what, hint)])
