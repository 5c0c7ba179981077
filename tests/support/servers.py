"""Real IRC servers, of others and our own, each on a free port."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from culture.config.address import TcpAddress
from support.requirement import unable

NGIRCD = """
[Global]
Name = irc.test
AdminEMail = nobody@irc.test
Info = test
Listen = 127.0.0.1
Ports = {port}
[Limits]
MaxNickLength = 30
MaxPenaltyTime = 0
MaxConnectionsIP = 0
[Options]
DNS = no
Ident = no
PAM = no
"""

INSPIRCD = """
<server name="irc.test" description="test" network="test">
<admin name="nobody" email="nobody@irc.test">
<bind address="127.0.0.1" port="{port}" type="clients">
<connect allow="*" timeout="20" resolvehostnames="no" useident="no" localmax="100" fakelag="no">
<files motd="">
<path configdir="{home}" datadir="{home}" logdir="{home}" runtimedir="{home}">
<pid file="{home}/pid">
<security maxtargets="5">
<log method="file" type="*" level="default" target="{home}/log">
<module name="cap">
<module name="ircv3_capnotify">
<module name="ircv3_ctctags">
<module name="ircv3_servertime">
"""


class Server:
    def __init__(self, command: list[str], port: int, log: Path) -> None:
        self.address = TcpAddress("127.0.0.1", port)
        self._command = command
        self._log = log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        _wait_until_it_listens(self.address.port, self._process)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)


def _ngircd(home: Path) -> list[str]:
    return ["ngircd", "-n", "-f", str(home / "conf")]


def _inspircd(home: Path) -> list[str]:
    # It refuses to be root unless told so twice.
    root = ["--runasroot"] if os.geteuid() == 0 else []
    return ["inspircd", "--nofork", "--config", str(home / "conf"), *root]


CULTURE_IRCD = """
name: spark
nick_policy: open
listen: ["127.0.0.1:{port}"]
state_dir: {home}/state
"""


def _culture_ircd(home: Path) -> list[str]:
    return [sys.executable, "-m", "culture.daemons.ircd", "--config", str(home / "conf")]


# What makes an InspIRCd one of two linked servers.
INSPIRCD_LINK = """
<module name="spanningtree">
<bind address="127.0.0.1" port="{own_port}" type="servers">
<link name="{other}" ipaddr="127.0.0.1" port="{other_port}" allowmask="127.0.0.1" sendpass="x" recvpass="x">
"""
INSPIRCD_CONNECT = '<autoconnect period="1" server="{other}">'


SERVERS: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "ngircd": (NGIRCD, _ngircd),
    "inspircd": (INSPIRCD, _inspircd),
    "culture-ircd": (CULTURE_IRCD, _culture_ircd),
}


def serve(name: str, home: Path) -> Iterator[Server]:
    """Until the test is over. One that is not installed here is skipped."""
    config, _ = SERVERS[name]
    server = _start(name, home, config.format(port="{port}", home=home))
    yield server
    server.kill()


def serve_linked(home: Path) -> Iterator[tuple[Server, Server]]:
    """Two linked InspIRCd servers, a.test and b.test; they may need a moment to find each other."""
    ports = {"a.test": _free_port(), "b.test": _free_port()}
    started = []
    # First the one that waits for the other.
    for name, other in (("b.test", "a.test"), ("a.test", "b.test")):
        place = home / name
        place.mkdir(mode=0o755)
        link = INSPIRCD_LINK + (INSPIRCD_CONNECT if name == "a.test" else "")
        config = INSPIRCD.format(port="{port}", home=place).replace("irc.test", name, 1)
        config += link.format(own_port=ports[name], other=other, other_port=ports[other])
        started.append(_start("inspircd", place, config))
    yield started[1], started[0]
    for server in started:
        server.kill()


def _start(name: str, home: Path, config: str) -> Server:
    _, command = SERVERS[name]
    program, *options = command(home)
    path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        unable(f"{name} is not installed")
    port = _free_port()
    (home / "conf").write_text(config.replace("{port}", str(port)))
    return Server([path, *options], port, home / "output")


def _wait_until_it_listens(port: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            assert process.poll() is None, "the server did not start"
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.01)
        else:
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
