"""IRC servers to measure: ours and those of others, configured so that nothing holds back load."""

import contextlib
import dataclasses
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from resolver import RESOLVER, knowing_no_names

DEADLINE_S = 10.0
# Daemons of Debian live where the PATH of a person does not look.
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class Server:
    """A program, its configuration, and how it is called with that."""

    program: str
    config: Callable[["Place"], str]
    arguments: tuple[str, ...]
    # Of Debian: its own, then what that needs and a small system lacks.
    packages: tuple[str, ...] = ()
    # Connections that may be opened at a time: whoever finds its queue full tries again after a second.
    at_once: int = 500
    # The name of every client, whatever its configuration says.
    looks_up: bool = False
    # Where the packages are, if they are not installed.
    unpacked: Path | None = None

    @property
    def is_installed(self) -> bool:
        return shutil.which(self.program, path=PATH) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """What a configuration has to know."""

    directory: Path
    port: int


@dataclass(frozen=True, slots=True)
class Running:
    port: int
    pid: int
    at_once: int


def on_core(core: int, command: list[str], *privileges: str) -> list[str]:
    """A command on one core, that ends when we do, however that comes."""
    return ["setpriv", "--pdeathsig", "KILL", *privileges, "taskset", "--cpu-list", str(core), *command]


@contextlib.contextmanager
def running(server: Server, core: int) -> Iterator[Running]:
    """The server on a free port of loopback and on one core, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="culture-bench-") as name:
        place = Place(Path(name), _free_port())
        (place.directory / "config").write_text(server.config(place))
        with knowing_no_names() if server.looks_up and os.geteuid() == 0 else contextlib.nullcontext():
            process = _start(server, place, core)
            try:
                _wait_for(server, process, place)
                yield Running(place.port, process.pid, server.at_once)
            finally:
                _end(process)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def fetched(server: Server) -> Iterator[Server]:
    """The server from the package archive, not installed: some of these packages exclude each other."""
    with tempfile.TemporaryDirectory(prefix="culture-bench-") as name:
        root = Path(name)
        # The archive's own user writes what is downloaded, and the server's reads it.
        root.chmod(0o777)
        subprocess.run(["apt-get", "-qq", "download", *server.packages], cwd=root, check=True)
        root.chmod(0o755)
        for package in root.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
        root.chmod(0o755)
        yield dataclasses.replace(server, unpacked=root)


def _start(server: Server, place: Place, core: int) -> subprocess.Popen[bytes]:
    words = {"config": place.directory / "config", "directory": place.directory}
    command = [server.program, *(word.format_map(words) for word in server.arguments)]
    user = []
    if os.geteuid() == 0 and server.packages:
        # They refuse to run as root, or become somebody else when they notice.
        shutil.chown(place.directory, "nobody", "nogroup")
        user = ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
    command = on_core(core, command, *user)
    mounts = []
    if server.unpacked:
        # Their paths are compiled in, so they get a /usr of their own that has both.
        mounts.append(["-t", "overlay", "-o", f"lowerdir={server.unpacked}/usr:/usr", "overlay", "/usr"])
    if server.looks_up and os.geteuid() == 0:
        (place.directory / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
        mounts.append(["--bind", str(place.directory / "resolv.conf"), "/etc/resolv.conf"])
    if mounts:
        mounting = "".join(f"{shlex.join(['mount', *each])} && " for each in mounts)
        command = ["unshare", "--mount", "sh", "-c", f'{mounting}exec "$@"', "sh", *command]
    with (place.directory / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=place.directory,
            env={**os.environ, "PATH": PATH},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait_for(server: Server, process: subprocess.Popen[bytes], place: Place) -> None:
    """Until it has greeted somebody: only then has it loaded all that it needs."""
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            return _be_greeted(place.port)
        time.sleep(0.02)
    said = "".join(path.read_text(errors="replace") for path in place.directory.glob("*log"))
    sys.exit(f"scripts/bench: '{server.program}' did not start: {said.strip()[-2000:]}")


def _be_greeted(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as probe:
        probe.sendall(b"NICK probe\r\nUSER probe 0 * :probe\r\n")
        for line in probe.makefile("rb"):
            if line.startswith(b"PING "):
                probe.sendall(line.replace(b"PING", b"PONG", 1))
            if b" 001 " in line:
                return
    raise ConnectionAbortedError


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _culture_as_shipped(place: Place) -> str:
    return f"""\
name: bench
listen: ['127.0.0.1:{place.port}']
nick_policy: open
state_dir: {place.directory}
# An extra of its own, with a model that wants a core for itself.
history: {{semantic: false, client_bytes_per_s: 0, total_bytes_per_s: 0}}
"""


def _culture(place: Place) -> str:
    return f"""{_culture_as_shipped(place)}
limits:
  sendq_bytes: 1073741824
  registration_timeout_s: 600
  ping_interval_s: 3600
  clients: 0
  local_clients: 0
  unregistered_clients: 0
  local_rate_lines_per_s: 0
skills: []
"""


def _inspircd(place: Place) -> str:
    return f"""\
<server name="bench.local" description="bench" network="bench">
<admin name="bench" nick="bench" email="bench@localhost">
<bind address="127.0.0.1" port="{place.port}" type="clients">
<path configdir="{place.directory}" datadir="{place.directory}" logdir="{place.directory}"
  runtimedir="{place.directory}">
<connect name="all" allow="*" timeout="600" pingfreq="3600" hardsendq="1073741824" softsendq="1073741824"
  recvq="1048576" threshold="1000000000" commandrate="1000000000" fakelag="off" limit="100000"
  localmax="100000" globalmax="100000" maxchans="100" maxconnwarn="off" resolvehostnames="no" useident="no">
<performance nouserdns="yes" softlimit="100000" somaxconn="1024" clonesonconnect="false" quietbursts="yes">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="inspircd.log">
"""


def _ngircd(place: Place) -> str:
    return f"""\
[Global]
Name = bench.local
Info = bench
AdminEMail = bench@localhost
Listen = 127.0.0.1
Ports = {place.port}
MotdPhrase = bench
[Limits]
MaxConnections = 0
MaxConnectionsIP = 0
MaxJoins = 0
MaxPenaltyTime = 0
PingTimeout = 3600
[Options]
DNS = no
Ident = no
PAM = no
"""


def _ircd_hybrid(place: Place) -> str:
    return f"""\
serverinfo {{ name = "bench.local"; description = "bench"; network_name = "bench"; network_desc = "bench";
  hub = no; default_max_clients = 10000; }};
admin {{ name = "bench"; email = "bench@localhost"; }};
class {{ name = "all"; ping_time = 1 hour; number_per_ip_local = 100000; number_per_ip_global = 100000;
  max_number = 100000; sendq = 1000 megabytes; recvq = 8000 bytes; }};
listen {{ host = "127.0.0.1"; port = {place.port}; }};
auth {{ user = "*@*"; class = "all"; flags = exceed_limit, can_flood; }};
general {{ disable_auth = yes; throttle_count = 100000; throttle_time = 1 second; anti_nick_flood = no;
  default_floodcount = 0; }};
channel {{ max_channels = 100; default_join_flood_count = 0; }};
"""


def _culture_with_history(place: Place) -> str:
    return _culture(place).replace("skills: []", "skills: [history]")


OURS = Server(sys.executable, _culture, ("-m", "culture.daemons.ircd", "--config", "{config}"))
WITH_HISTORY = dataclasses.replace(OURS, config=_culture_with_history)
# Its limits are in force.
AS_SHIPPED = dataclasses.replace(OURS, config=_culture_as_shipped)
PEERS = {
    "inspircd": Server("inspircd", _inspircd, ("--nofork", "--config={config}"), ("inspircd",)),
    "ngircd": Server("ngircd", _ngircd, ("--nodaemon", "--config", "{config}"), ("ngircd",), at_once=8),
    "ircd-hybrid": Server(
        "ircd-hybrid",
        _ircd_hybrid,
        (
            "-foreground",
            *("-configfile", "{config}"),
            *("-pidfile", "{directory}/pid"),
            *("-logfile", "{directory}/ircd.log"),
        ),
        ("ircd-hybrid", "libltdl7"),
        looks_up=True,
    ),
}
