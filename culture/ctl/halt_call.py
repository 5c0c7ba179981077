"""Send HALT or UNHALT to the server of this host, without registering as a client."""

import argparse
import os
import socket
from pathlib import Path
from typing import Final

from culture.config import loader, paths
from culture.config.address import PLAIN, Address, UnixAddress, parse_address, parse_endpoint
from culture.config.ircd import IrcdConfig
from culture.ctl.options import add_ircd_config
from culture.errors import NotAllowedError, UnavailableError, UsageError
from culture.protocol.line import Line, MalformedLine, format_line, parse_line

TIMEOUT_S: Final = 10.0
_ANSWERS: Final = frozenset({"HALT", "UNHALT"})
# Where culture-ircd.socket listens.
SOCKET: Final = paths.SYSTEM_RUNTIME / "ircd.sock"


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that halt and unhalt share."""
    parser.add_argument("--mesh", action="store_true", help="All linked hosts, not only this one")
    where = "Address of the server, host:port or unix:/path (default: as in ircd.yaml)"
    parser.add_argument("--server", metavar="ADDRESS", help=where)
    add_ircd_config(parser)


def change_halt(options: argparse.Namespace, command: str, why: str = "") -> Line:
    """Send HALT or UNHALT to the server and return its answer, which says whether agents are halted."""
    words = (command, "mesh" if options.mesh else "host", " ".join(why.split()))
    line = format_line(*words, trailing=True)
    return _ask(server_address(options.config, options.server), line)


def server_address(config: Path | None, given: str | None) -> Address:
    """Return where to reach the server: as given, its unix socket, or the first plain listener."""
    if given:
        try:
            return parse_address(given)
        except ValueError as error:
            raise UsageError(f"--server: {error}") from None
    path = config or paths.config_file("ircd.yaml", os.environ)
    if path.parent == paths.SYSTEM_CONFIG and SOCKET.exists():
        return UnixAddress(str(SOCKET))
    endpoints = map(parse_endpoint, loader.load(path, IrcdConfig).listen)
    plain = [endpoint.address for endpoint in endpoints if endpoint.carrier == PLAIN]
    if not plain:
        raise UnavailableError("the server has no listener without TLS", hint="--server unix:/path")
    return next((address for address in plain if isinstance(address, UnixAddress)), plain[0])


def _ask(address: Address, command: str) -> Line:
    """Send a line and return the answer. Raise what a refusal means."""
    hint = "systemctl status culture-ircd"
    try:
        with _connect(address) as connection, connection.makefile("rb") as answers:
            connection.sendall(f"{command}\r\n".encode())
            for raw in answers:
                line = parse_line(raw.decode(errors="replace").rstrip("\r\n"))
                if line.command in _ANSWERS:
                    return line
                if line.command in ("FAIL", "ERROR") or line.command[:1] in "45":
                    raise _refusal(line)
    except (OSError, MalformedLine) as error:
        why = getattr(error, "strerror", None) or error
        raise UnavailableError(f"cannot ask the server at {address}: {why}", hint=hint) from None
    raise UnavailableError(f"the server at {address} did not answer", hint=hint)


def _connect(address: Address) -> socket.socket:
    if isinstance(address, UnixAddress):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(TIMEOUT_S)
        try:
            connection.connect(address.path)
        except OSError:
            connection.close()
            raise
        return connection
    return socket.create_connection((address.host, address.port), TIMEOUT_S)


def _refusal(line: Line) -> NotAllowedError:
    hint = "run it as root, or as the user that the server runs as"
    return NotAllowedError(f"the server refused: {line.params[-1]}", hint=hint)
