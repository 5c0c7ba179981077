"""Find what would make an apply fail on this host, before anything is written."""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.config import loader
from culture.config.fleet.derive import agents_of, ircd_of
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.files import below
from culture.ctl.fleet.render import IRCD_FILE
from culture.ctl.units.missing import find_missing
from culture.errors import ConfigError, NoInputError, NotAllowedError, Problem
from culture.names import host_key
from culture.systemd.credentials import SERVER_DIRECTORY

# As Debian calls what uname(2) calls so.
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def find_failures(fleet: FleetConfig, host: HostConfig, root: Path) -> list[Problem]:
    """Return everything that is missing or wrong on this machine."""
    agents = agents_of(host)
    ircd = ircd_of(fleet, host)
    return [
        *_identity(host, root),
        *(_architecture(host) if root == Path("/") else []),
        *_credentials(ircd, root),
        *_files(ircd, root),
        *(problem for agent in agents.agents for problem in find_missing(agents, agent, root)),
    ]


def _identity(host: HostConfig, root: Path) -> Iterator[Problem]:
    """Refuse to turn one host into another by mistake."""
    try:
        own = loader.load(below(root, IRCD_FILE), IrcdConfig).name
    except (ConfigError, NoInputError, NotAllowedError):
        return
    if own and host_key(own) != host_key(host.name):
        what = f"this host is '{own}' in {IRCD_FILE}, and not '{host.name}'"
        yield Problem(f"host '{host.name}'", what, f"--host {own}, or change the name in {IRCD_FILE}")


def architecture_of_this_machine() -> str:
    """Return the architecture as Debian calls it."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def _architecture(host: HostConfig) -> Iterator[Problem]:
    found = architecture_of_this_machine()
    if found != host.architecture:
        what = f"this machine is {found}, and the fleet says {host.architecture}"
        yield Problem(f"host '{host.name}'", what, f"architecture: {found}")


def _credentials(ircd: IrcdConfig, root: Path) -> Iterator[Problem]:
    directory = below(root, SERVER_DIRECTORY)
    names = [link.secret_credential for link in ircd.links]
    names += [oper.password_credential for oper in ircd.opers] + [ircd.password_credential]
    for name in dict.fromkeys(filter(None, names)):
        try:
            is_there = (directory / name).is_file()
        except PermissionError:
            # Only root can look into the directory.
            return
        if not is_there:
            is_link = any(link.secret_credential == name for link in ircd.links)
            add = f"install -m 0600 /dev/stdin {SERVER_DIRECTORY / name}"
            hint = f"culturectl secrets install {ircd.name}" if is_link else add
            yield Problem("server", f"the credential '{name}' is not in {SERVER_DIRECTORY}", hint)


def _files(ircd: IrcdConfig, root: Path) -> Iterator[Problem]:
    for file in filter(None, (ircd.tls.certificate, ircd.tls.key, ircd.oidc.keys_file)):
        try:
            is_there = below(root, Path(file)).exists()
        except PermissionError:
            continue
        if not is_there:
            yield Problem("server", f"the file '{file}' does not exist", f"ls -l {Path(file).parent}")
