"""Render, write and remove the systemd drop-ins of agents."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from culture.config.agents import AgentConfig
from culture.ctl.files import write_atomically
from culture.errors import NotAllowedError, UnavailableError

DIRECTORY: Final = Path("/etc/systemd/system")
FILE: Final = "50-agents-yaml.conf"
_UNIT: Final = re.compile(r"culture-agent@([A-Za-z0-9_-]+)\.(?:service|socket)")


def render(agent: AgentConfig) -> dict[Path, str]:
    """Return the text of each drop-in, below the directory of units; empty where there is nothing to say."""
    unit = f"culture-agent@{agent.nick}"
    return {
        Path(f"{unit}.service.d", FILE): _section("Service", _service(agent)),
        Path(f"{unit}.socket.d", FILE): _section("Socket", _socket(agent)),
    }


def apply(rendered: Mapping[Path, str], directory: Path) -> list[Path]:
    """Write the drop-ins, and return those that changed."""
    try:
        return [file for file, text in rendered.items() if _write(directory / file, text)]
    except PermissionError as error:
        raise NotAllowedError(f"cannot write '{error.filename}': {error.strerror}", hint="sudo !!") from None
    except OSError as error:
        where = error.filename or directory
        raise UnavailableError(f"cannot write '{where}': {error.strerror}") from None


def _service(agent: AgentConfig) -> list[str]:
    places = [place for place in (agent.directory, *agent.writable) if place]
    return [
        *(_as_user(agent.user) if agent.user else []),
        # Without these, /home is empty and the system read-only. systemd skips a missing directory, so that
        # culture-agent starts and reports it.
        *(f"BindPaths={_optional(place)}" for place in places),
        *(f"ReadWritePaths={_optional(place)}" for place in places),
        *([f"MemoryMax={agent.memory_max}"] if agent.memory_max else []),
    ]


def _as_user(user: str) -> list[str]:
    """Return lines for the user's own group, and the group that reaches the server's unix socket.

    A service with RemoveIPC=yes would delete what the user's other programs have in /dev/shm when it stops.
    """
    return [f"User={user}", "Group=", "SupplementaryGroups=culture", "RemoveIPC=no"]


def _socket(agent: AgentConfig) -> list[str]:
    return [f"SocketUser={agent.user}", "SocketGroup="] if agent.user else []


def _section(name: str, lines: Sequence[str]) -> str:
    head = "# Made of agents.yaml by `culturectl units`: change it there."
    return "\n".join([head, f"[{name}]", *lines, ""]) if lines else ""


def _optional(path: str) -> str:
    """Return a path that need not exist, as one word of a unit file.

    systemd.syntax(7) says how to quote, and `%` is a specifier.
    """
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace(":", "\\:")
    return f'"-{escaped}"'


def _write(path: Path, text: str) -> bool:
    """Write or remove a file, and return whether that changed it."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_text(encoding="utf-8") == text:
            return False
    if not text:
        is_there = path.exists()
        _remove(path)
        return is_there
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return True


def nick_of(unit: str) -> str | None:
    """Return whose unit this is, or None if it is not one of an agent."""
    found = _UNIT.fullmatch(unit)
    return found[1] if found else None


def installed_agents(directory: Path) -> set[str]:
    """Return the nicks that have a drop-in of ours, or are enabled."""
    drop_ins = (path.parent.name.removesuffix(".d") for path in directory.glob(f"culture-agent@*.d/{FILE}"))
    enabled = (path.name for path in directory.glob("*.wants/culture-agent@*"))
    return {nick for unit in [*drop_ins, *enabled] if (nick := nick_of(unit))}


def drop_ins_of(nick: str, directory: Path) -> list[Path]:
    """Return the existing drop-ins of an agent."""
    paths = (directory / f"culture-agent@{nick}.{kind}.d" / FILE for kind in ("service", "socket"))
    return [path for path in paths if path.exists()]


def remove_drop_ins(nick: str, directory: Path) -> list[Path]:
    """Remove the drop-ins of an agent that is gone."""
    removed = drop_ins_of(nick, directory)
    for path in removed:
        _remove(path)
    return removed


def _remove(path: Path) -> None:
    """Remove a drop-in, and its directory if nothing else is in it."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()
