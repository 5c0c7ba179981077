"""Open listening sockets for the children, and report which process uses a taken port."""

import contextlib
import errno
import os
import socket
from pathlib import Path

from culture.config.address import Address, TcpAddress
from culture.errors import UnavailableError
from culture.net.listen.listeners import FOR_THE_GROUP, open_listener

_LISTEN = "0A"  # TCP_LISTEN, as /proc/net/tcp writes it


def listen(address: Address, unix_mode: int = FOR_THE_GROUP) -> socket.socket:
    """Open a listening socket. Raises UnavailableError, which names the process that uses the port."""
    try:
        return open_listener(address, unix_mode=unix_mode)
    except UnavailableError as error:
        if isinstance(address, TcpAddress) and getattr(error.__context__, "errno", 0) == errno.EADDRINUSE:
            raise _taken(address.port) from None
        raise


def close_listener(listener: socket.socket) -> None:
    """Close a listening socket, and remove the file of a unix socket."""
    if listener.family == socket.AF_UNIX:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(listener.getsockname())
    listener.close()


def _taken(port: int) -> UnavailableError:
    process = process_listening_on(port)
    other = port + 1 if port < 65535 else 6667
    return UnavailableError(
        f"port {port} is in use" + (f" by {process}" if process else ""),
        hint=f"stop the program that uses it, or choose another port: --port {other}",
    )


def process_listening_on(port: int, proc: Path = Path("/proc")) -> str | None:
    """Return who listens on a TCP port, as `name (process 123)`; None if this user may not know."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    for process in proc.iterdir() if sockets else ():
        if process.name.isdecimal() and sockets & _open_files(process):
            with contextlib.suppress(OSError):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
    return None


def _listening_inodes(port: int, proc: Path) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            # proc(5): sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
            for row in (proc / "net" / table).read_text().splitlines()[1:]:
                column = row.split()
                if column[3] == _LISTEN and int(column[1].rpartition(":")[2], 16) == port:
                    found.add(column[9])
    return found


def _open_files(process: Path) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for fd in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(os.readlink(fd))
    return found
