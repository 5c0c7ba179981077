"""The directory that one `culturectl up` runs in: its configuration, its sockets, and its lock."""

import fcntl
import os
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
from culture.ctl.files import write_whole
from culture.errors import NotAllowedError, UnavailableError

FILES = ("ircd.yaml", "agents.yaml")
_SOCKET_PATH_BYTES = 107  # sockaddr_un holds 108, one of them the closing NUL


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @property
    def ircd_yaml(self) -> Path:
        return self.path / "ircd.yaml"

    @property
    def agents_yaml(self) -> Path:
        return self.path / "agents.yaml"

    @property
    def run(self) -> Path:
        """Sockets, and files that are made anew each time."""
        return self.path / "run"


def open_home(path: Path) -> tuple[Home, list[Path]]:
    """The home, made if it is not there, and the files that were put into it from skel."""
    home = Home(path)
    written = [path / name for name in FILES if not (path / name).exists()]
    try:
        home.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in written:
            # The next time, what is there stays as it is.
            write_whole(file, (paths.skel() / file.name).read_bytes())
    except OSError as error:
        raise _cannot_write(path, error) from None
    return home, written


def _cannot_write(path: Path, error: OSError) -> NotAllowedError:
    what = f"cannot write '{error.filename or path}': {error.strerror}"
    return NotAllowedError(what, hint="choose another place: --home DIR")


@contextmanager
def place_for_sockets(home: Home, names: Iterable[str]) -> Iterator[Path]:
    """A directory in which sockets of these names fit: the home's own, unless it is too far down."""
    if all(len(os.fsencode(home.run / name)) <= _SOCKET_PATH_BYTES for name in names):
        yield home.run
    else:
        with tempfile.TemporaryDirectory(prefix="culture-") as directory:
            yield Path(directory)


def load_both(home: Home) -> tuple[IrcdConfig, AgentsConfig]:
    """What the two files say, with every agent one that the server takes."""
    ircd, agents = load(home.ircd_yaml, IrcdConfig), load(home.agents_yaml, AgentsConfig)
    for agent in agents.agents:
        find_agent(agents, agent.nick, where=str(home.agents_yaml))
    return ircd, agents


def lock(home: Home) -> int:
    """Held until we end, however we end. Two at once would take each other's sockets."""
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
            f"'{home.path}' is up already, by process {pid or '?'}",
            hint=f"stop that one (Ctrl-C there, or: kill {pid or 'PID'}), or use another: --home DIR",
        ) from None
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def with_listen(ircd_yaml: str, addresses: Sequence[str]) -> str:
    """The same server, listening elsewhere than the file says."""
    said = _composed(ircd_yaml)
    return yaml.serialize(_with(said, "listen", _composed(yaml.safe_dump(list(addresses)))))


def with_server_port(agents_yaml: str, port: int) -> str:
    """The same agents, on a server that listens elsewhere than the file says."""
    said = _composed(agents_yaml)
    server = next((value for key, value in _pairs(said) if key.value == "server"), None)
    return yaml.serialize(_with(said, "server", _with(server, "port", _composed(str(port)))))


def _composed(text: str) -> yaml.Node | None:
    """Before it is made into values: to YAML `off` is false, to us it may be a word."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    """None of a mapping that is left out or left empty."""
    return node.value if isinstance(node, yaml.MappingNode) else []


def _with(node: yaml.Node | None, name: str, value: yaml.Node | None) -> yaml.Node:
    others = [(key, kept) for key, kept in _pairs(node) if key.value != name]
    return yaml.MappingNode("tag:yaml.org,2002:map", [*others, (_composed(name), value)])
