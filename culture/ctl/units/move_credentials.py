"""Give each agent its credentials out of the directory that all services shared in version 0.1."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.files import below, write_secret
from culture.ctl.units.dropins import DIRECTORY, FILE
from culture.ctl.units.missing import credential_names
from culture.errors import ConfigError, NoInputError, NotAllowedError, UnavailableError
from culture.systemd.credentials import SERVER_DIRECTORY, agent_directory, encrypted_agent_directory


def move_credentials(config: AgentsConfig, root: Path, *, dry_run: bool = False) -> Iterator[str]:
    """Copy what an agent lacks into its directory, then remove what only agents need. Say what was done.

    Nothing is removed before everything is copied, nor what the server or a unit may read where it is.
    """
    try:
        copies = list(_find_copies(config, root))
        for source, target in copies:
            if not dry_run:
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_secret(target, source.read_bytes())
            yield f"{source} -> {target}"
        needed = _needed_here(root)
        for source in dict.fromkeys(source for source, _ in copies):
            if needed is None or source.name in needed:
                yield f"{source} stays: the server or a unit may need it"
            elif not dry_run:
                source.unlink()
    except PermissionError as error:
        raise NotAllowedError(f"cannot move '{error.filename}': {error.strerror}", hint="sudo !!") from None
    except OSError as error:
        raise UnavailableError(f"cannot move credentials: {error}") from None


def _find_copies(config: AgentsConfig, root: Path) -> Iterator[tuple[Path, Path]]:
    shared = below(root, SERVER_DIRECTORY)
    for agent in config.agents:
        own = below(root, agent_directory(agent.nick))
        encrypted = below(root, encrypted_agent_directory(agent.nick))
        for name in credential_names(config, agent):
            is_there = (own / name).exists() or (encrypted / name).exists()
            if not is_there and (shared / name).is_file():
                yield shared / name, own / name


def _needed_here(root: Path) -> set[str] | None:
    """Return the names that the server or a unit of a person's own reads; None if that is not known."""
    try:
        server = loader.load(below(root, Path("/etc/culture/ircd.yaml")), IrcdConfig)
    except NoInputError:
        server = IrcdConfig()
    except ConfigError:
        return None
    named = [
        server.password_credential,
        *(oper.password_credential for oper in server.opers),
        *(link.secret_credential for link in server.links),
    ]
    drop_ins = below(root, DIRECTORY).glob("**/*.conf")
    return {*filter(None, named), *_loaded_by_units(drop_ins)}


def _loaded_by_units(files: Iterable[Path]) -> Iterator[str]:
    """Return what drop-ins load one by one. Those of `culturectl units` are written anew."""
    for file in files:
        if file.name == FILE:
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            path = Path(line.rpartition(":")[2].strip())
            if line.startswith("LoadCredential=") and path.parent == SERVER_DIRECTORY:
                yield path.name
