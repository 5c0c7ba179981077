"""Make the secrets of links in a directory of the operator, and install them as credentials of hosts."""

import io
import os
import secrets
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from culture.config.fleet.derive import links_of
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.ctl.files import write_secret
from culture.ctl.fleet.ssh import Answer, run_on
from culture.errors import ConfigError, NotAllowedError, Problem
from culture.systemd.credentials import SERVER_DIRECTORY

BYTES: Final = 32


def make(fleet: FleetConfig, directory: Path) -> Iterator[str]:
    """Make the secrets that are missing, and return their names."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        for link in fleet.pairs():
            path = directory / link.credential
            if not path.exists():
                write_secret(path, secrets.token_urlsafe(BYTES).encode() + b"\n")
                yield link.credential
    except OSError as error:
        raise NotAllowedError(f"cannot write '{error.filename}': {error.strerror}") from None


def read(fleet: FleetConfig, host: HostConfig, directory: Path) -> dict[str, bytes]:
    """Return the secrets of the links of a host, by the names of their credentials."""
    names = [link.secret_credential for link in links_of(fleet, host)]
    problems: list[Problem] = []
    found: dict[str, bytes] = {}
    for name in names:
        path = directory / name
        try:
            if os.stat(path).st_mode & 0o077:
                problems.append(Problem(str(path), "can be read by others", f"chmod 0600 {path}"))
            found[name] = path.read_bytes()
        except FileNotFoundError:
            problems.append(Problem(str(path), "there is no such secret", "culturectl secrets make"))
        except OSError as error:
            problems.append(Problem(str(path), f"cannot be read: {error.strerror}", f"ls -l {path}"))
    if problems:
        raise ConfigError(problems)
    return found


def install(host: HostConfig, texts: Mapping[str, bytes]) -> Answer:
    """Write the secrets to a host, where only root can read them. They are on its standard input only."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in texts.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o600
            tar.addfile(entry, io.BytesIO(text))
    command = ["tar", "--extract", "--no-same-owner", "--unlink-first", "-C", str(SERVER_DIRECTORY)]
    return run_on(host, command, data=archive.getvalue())
