"""`culturectl units`: what agents.yaml says of an agent's service, as drop-ins for its unit."""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.ctl.files import write_whole
from culture.errors import NotAllowedError, UnavailableError

DIRECTORY: Final = Path("/etc/systemd/system")
FILE: Final = "50-agents-yaml.conf"
_RELOAD: Final = ("systemctl", "daemon-reload")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nicks", nargs="*", metavar="NICK", help="these alone; default: all of agents.yaml")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written")
    root = "write below this directory, and leave the systemd of this host alone"
    parser.add_argument("--root", type=Path, metavar="DIR", help=root)
    where = "default: ~/.culture/agents.yaml if it exists, else /etc/culture/agents.yaml"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)


def run(options: argparse.Namespace) -> int:
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    nicks = options.nicks or [agent.nick for agent in config.agents]
    agents = [find_agent(config, nick, where=str(path)) for nick in nicks]
    rendered = {file: text for agent in agents for file, text in render(config, agent).items()}
    directory = options.root / DIRECTORY.relative_to("/") if options.root else DIRECTORY
    if options.dry_run:
        for file, text in rendered.items():
            print(f"# {directory / file}\n{text}" if text else f"# {directory / file}: not needed\n")
        return 0
    changed = apply(rendered, directory)
    for file in changed:
        print(directory / file)
    if changed and not options.root:
        _reload()
        print("hint: systemctl restart culture-agent@NICK for those that run", file=sys.stderr)
    return 0


def render(config: AgentsConfig, agent: AgentConfig) -> dict[Path, str]:
    """The text of each drop-in, below the directory of units; empty where there is nothing to say."""
    unit = f"culture-agent@{agent.nick}"
    return {
        Path(f"{unit}.service.d", FILE): _section("Service", _service(config, agent)),
        Path(f"{unit}.socket.d", FILE): _section("Socket", _socket(agent)),
    }


def apply(rendered: Mapping[Path, str], directory: Path) -> list[Path]:
    """What was not as it should be, and is now."""
    try:
        return [file for file, text in rendered.items() if _write(directory / file, text)]
    except PermissionError as error:
        raise NotAllowedError(f"cannot write '{error.filename}': {error.strerror}", hint="sudo !!") from None
    except OSError as error:
        where = error.filename or directory
        raise UnavailableError(f"cannot write '{where}': {error.strerror}") from None


def _service(config: AgentsConfig, agent: AgentConfig) -> list[str]:
    places = [place for place in (agent.directory, *agent.writable) if place]
    names = [agent.key_credential, agent.account_credential, config.server.password_credential]
    return [
        *(_as_user(agent.user) if agent.user else []),
        # Let into the empty /home, and written to in a system that is read-only.
        *(f"BindPaths={_quoted(place)}" for place in places),
        *(f"ReadWritePaths={_quoted(place)}" for place in places),
        *([f"MemoryMax={agent.memory_max}"] if agent.memory_max else []),
        # Of all credentials, its own.
        "LoadCredential=",
        *(f"LoadCredential={name}:/etc/culture/credentials/{name}" for name in filter(None, names)),
    ]


def _as_user(user: str) -> list[str]:
    """With the user's own group, and the one that reaches the server's unix socket."""
    return [f"User={user}", "Group=", "SupplementaryGroups=culture"]


def _socket(agent: AgentConfig) -> list[str]:
    return [f"SocketUser={agent.user}", "SocketGroup="] if agent.user else []


def _section(name: str, lines: Sequence[str]) -> str:
    head = "# Made of agents.yaml by `culturectl units`: change it there."
    return "\n".join([head, f"[{name}]", *lines, ""]) if lines else ""


def _quoted(path: str) -> str:
    """As one word of a unit file: systemd.syntax(7), and `%` is a specifier."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace(":", "\\:")
    return f'"{escaped}"'


def _write(path: Path, text: str) -> bool:
    """Whether it was another one before."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_text(encoding="utf-8") == text:
            return False
    if not text:
        is_there = path.exists()
        path.unlink(missing_ok=True)
        return is_there
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    return True


def _reload() -> None:
    try:
        subprocess.run(_RELOAD, check=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"cannot run systemctl: {error}", hint=" ".join(_RELOAD)) from None
