"""The home directory of `culturectl up`: configuration, sockets and lock."""

import fcntl
import os
import pwd
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from culture.config import paths
from culture.config.agents import AgentsConfig, find_agent
from culture.config.ircd import IrcdConfig
from culture.config.loader import load
from culture.ctl.files import write_atomically
from culture.errors import NotAllowedError, UnavailableError

FILES = ("ircd.yaml", "agents.yaml")
_SOCKET_PATH_BYTES = 107  # sockaddr_un holds 108, one of them the closing NUL


@dataclass(frozen=True, slots=True)
class Home:
    """The paths in a home directory."""

    path: Path

    @property
    def ircd_yaml(self) -> Path:
        """Return the path of the server's configuration."""
        return self.path / "ircd.yaml"

    @property
    def agents_yaml(self) -> Path:
        """Return the path of the agents' configuration."""
        return self.path / "agents.yaml"

    @property
    def run(self) -> Path:
        """Return the directory of sockets and of files that are rewritten at each start."""
        return self.path / "run"


def open_home(path: Path) -> tuple[Home, list[Path]]:
    """Create the home if it is missing, and return it with the files that were copied from skel."""
    home = Home(path)
    written = [path / name for name in FILES if not (path / name).exists()]
    try:
        home.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in written:
            # Atomic, because the next start keeps any file that exists.
            text = (paths.skel() / file.name).read_text(encoding="utf-8")
            write_atomically(file, text.replace("YOUR_USER", _user_name()).encode())
    except OSError as error:
        raise _cannot_write(path, error) from None
    return home, written


def _user_name() -> str:
    """Return the name of this Unix user as the server calls them: the number if there is no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _cannot_write(path: Path, error: OSError) -> NotAllowedError:
    what = f"cannot write '{error.filename or path}': {error.strerror}"
    return NotAllowedError(what, hint="choose another directory: --home DIR")


@contextmanager
def socket_directory(home: Home, names: Iterable[str]) -> Iterator[Path]:
    """Yield a directory for sockets: that of the home, or a temporary one if its path is too long."""
    if all(len(os.fsencode(home.run / name)) <= _SOCKET_PATH_BYTES for name in names):
        yield home.run
    else:
        with tempfile.TemporaryDirectory(prefix="culture-") as directory:
            yield Path(directory)


def load_configs(home: Home) -> tuple[IrcdConfig, AgentsConfig]:
    """Load both configuration files, and check that the server accepts the nick of every agent."""
    ircd, agents = load(home.ircd_yaml, IrcdConfig), load(home.agents_yaml, AgentsConfig)
    for agent in agents.agents:
        find_agent(agents, agent.nick, where=str(home.agents_yaml))
    return ircd, agents


def lock(home: Home) -> int:
    """Lock the home until this process ends: two at once would take each other's sockets."""
    try:
        fd = os.open(home.run / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot_write(home.run, error) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.read(fd, 32).decode().strip()
        os.close(fd)
        raise UnavailableError(
            f"'{home.path}' is in use by process {pid or '?'}",
            hint=f"kill {pid or 'PID'}, or choose another directory: --home DIR",
        ) from None
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def with_listen(ircd_yaml: str, addresses: Sequence[str]) -> str:
    """Return ircd.yaml with other listen addresses."""
    document = _compose(ircd_yaml)
    return yaml.serialize(_with(document, "listen", _compose(yaml.safe_dump(list(addresses)))))


def with_server_port(agents_yaml: str, port: int) -> str:
    """Return agents.yaml with another port of the server."""
    document = _compose(agents_yaml)
    server = next((value for key, value in _pairs(document) if key.value == "server"), None)
    return yaml.serialize(_with(document, "server", _with(server, "port", _compose(str(port)))))


def _compose(text: str) -> yaml.Node | None:
    """Return the YAML nodes without converting scalars: YAML reads `off` as false, Culture may not."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    """Return the entries of a mapping; none if it is absent or empty."""
    return node.value if isinstance(node, yaml.MappingNode) else []


def _with(node: yaml.Node | None, name: str, value: yaml.Node | None) -> yaml.Node:
    others = [(key, kept) for key, kept in _pairs(node) if key.value != name]
    return yaml.MappingNode("tag:yaml.org,2002:map", [*others, (_compose(name), value)])
