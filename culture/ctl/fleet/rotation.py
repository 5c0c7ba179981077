"""Replace the secrets of links while the links stay: both ends accept the old and the new one for a while.

A credential may hold several secrets, one per line. A host uses the first one and accepts all of them. So
every host first learns the new secret, then uses it, and then forgets the old one.
"""

import secrets as random_secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from culture.config.fleet.model import FleetConfig, HostConfig
from culture.ctl.files import write_secret
from culture.ctl.fleet import secrets
from culture.ctl.fleet.plan import SERVER
from culture.ctl.fleet.ssh import run_on
from culture.errors import UnavailableError

# Holds the new secret of a link until the rotation is complete.
_NEW: Final = ".new"
_RESTART_TIMEOUT_S: Final = 120


def rotate(fleet: FleetConfig, directory: Path, tell: Callable[[str], None]) -> None:
    """Replace the secrets of all links. A rotation that was interrupted is continued.

    Raises UnavailableError if a host does not follow; links work as before then.
    """
    names = [link.credential for link in fleet.pairs()]
    new = {name: _new_secret(directory / f"{name}{_NEW}") for name in names}
    old = {name: _first_other(directory / name, new[name]) for name in names}
    for step, lines in (
        ("learn the new secrets", {name: [old[name], new[name]] for name in names}),
        ("use the new secrets", {name: [new[name], old[name]] for name in names}),
        ("forget the old secrets", {name: [new[name]] for name in names}),
    ):
        if step.startswith("learn") and all(_first(directory / name) == new[name] for name in names):
            # It was interrupted later than here.
            continue
        for name, texts in lines.items():
            write_secret(directory / name, "".join(f"{text}\n" for text in texts if text).encode())
        tell(f"all hosts {step}")
        for host in fleet.hosts:
            _install_and_restart(fleet, host, directory)
            tell(f"{host.name}: done")
    for name in names:
        (directory / f"{name}{_NEW}").unlink()


def _install_and_restart(fleet: FleetConfig, host: HostConfig, directory: Path) -> None:
    answer = secrets.install(host, secrets.read(fleet, host, directory))
    if answer.status == 0:
        answer = run_on(host, ["systemctl", "restart", SERVER], timeout_s=_RESTART_TIMEOUT_S)
    if answer.status:
        why = answer.error.strip() or f"exit status {answer.status}"
        raise UnavailableError(f"{host.name}: {why}", hint="culturectl secrets rotate, to continue")


def _new_secret(path: Path) -> str:
    if not path.exists():
        write_secret(path, random_secrets.token_urlsafe(secrets.BYTES).encode() + b"\n")
    return path.read_text(encoding="utf-8").strip()


def _first(path: Path) -> str:
    return next(iter(path.read_text(encoding="utf-8").splitlines()), "")


def _first_other(path: Path, new: str) -> str:
    """Return the secret that is replaced; empty if the file does not have it any more."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line and line != new), "")
