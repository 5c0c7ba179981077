"""What an agent's shell tries against another agent and the server. It runs on a host, as the agent.

Prints one JSON object: for each attempt what came of it. It is given the passwords that it should not have,
so that what is refused is refused whoever knows them.
"""

import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SECRET = re.compile(rb"S3CRET-[a-z-]+")
# Files of these are either not files or too many, and the same for everybody.
SKIPPED = ("/proc", "/sys", "/usr", "/lib", "/boot")
UNIX, TCP4, TCP6 = "/run/culture/ircd.sock", "127.0.0.1", "::1"
PIDS = range(2, 20_000)


def secrets_in_files() -> list[str]:
    """Every secret in every file that can be read, among them the credentials of services."""
    found: set[bytes] = set()
    for directory, directories, names in os.walk("/"):
        directories[:] = [each for each in directories if os.path.join(directory, each) not in SKIPPED]
        for name in names:
            found |= secrets_in(Path(directory, name))
    return sorted(each.decode() for each in found)


def secrets_in_processes() -> list[str]:
    found: set[bytes] = set()
    for process in [each for each in Path("/proc").iterdir() if each.name.isdecimal()]:
        for name in ("environ", "cmdline", "root/etc/culture/credentials/mesh"):
            found |= secrets_in(process / name)
        with contextlib.suppress(OSError):
            for file in (process / "fd").iterdir():
                found |= secrets_in(file)
    return sorted(each.decode() for each in found)


def secrets_in(path: Path) -> set[bytes]:
    try:
        if not path.is_file():
            return set()
        with path.open("rb") as file:
            return set(SECRET.findall(file.read(1_000_000)))
    except OSError:
        return set()


def in_environment() -> list[str]:
    return sorted(value for value in os.environ.values() if SECRET.search(value.encode()))


def on_server(where: str, *lines: str) -> list[str]:
    """What the server answers to a raw client, until it has nothing more to say."""
    try:
        with socket.socket(socket.AF_UNIX) if where == UNIX else socket.socket(family(where)) as client:
            client.settimeout(10)
            client.connect(where if where == UNIX else (where, 6667))
            client.sendall("".join(f"{line}\r\n" for line in (*lines, "PING :end")).encode())
            received = b""
            while b" PONG " not in received and (piece := client.recv(65536)):
                received += piece
            return received.decode(errors="replace").splitlines()
    except OSError as error:
        return [f"{type(error).__name__}: {error}"]


def family(where: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in where else socket.AF_INET


def speaking(other: str, words: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Tries to be the other agent, a person, and nobody in particular, by every way to the server."""
    plain = base64.b64encode(f"\0{other}\0{words['other']}".encode()).decode()
    admin = base64.b64encode(f"\0admin\0{words['admin']}".encode()).decode()
    say = f"PRIVMSG #general :I am {other}"
    for where in (UNIX, TCP4, TCP6):
        for nick in (other, other.upper(), "spark-ori", "spark-x", "admin"):
            yield (
                f"NICK {nick} by {where}",
                on_server(where, f"NICK {nick}", "USER x 0 * :x", "JOIN #general", say),
            )
        for name, proof in (("the other agent", plain), ("admin", admin)):
            yield (
                f"SASL as {name} by {where}",
                on_server(where, "CAP REQ :sasl", "AUTHENTICATE PLAIN", f"AUTHENTICATE {proof}"),
            )
        yield (
            f"REGISTER by {where}",
            on_server(where, "CAP REQ :draft/account-registration", f"REGISTER {other} * p"),
        )
        yield f"link by {where}", on_server(where, f"PASS {words['mesh']}", "SERVER thor 1 :thor")
        me = os.environ["CULTURE_NICK"]
        oper = (f"NICK {me}", "USER x 0 * :x", f"OPER root {words['oper']}", f"MODE {me}")
        yield f"OPER by {where}", on_server(where, *oper)
        yield f"no nick at all by {where}", on_server(where, f"OPER root {words['oper']}")


def commands(other: str) -> Iterator[list[str]]:
    skill = ["/usr/lib/culture/bin/irc", "--nick", other]
    yield [*skill, "send", "#general", f"I am {other}"]
    yield [
        "env",
        f"CULTURE_SOCKET=/run/culture/{other}.sock",
        f"CULTURE_NICK={other}",
        *skill[:1],
        "send",
        "#general",
        "x",
    ]
    yield ["culturectl", "pause", other]
    for unit in (f"culture-agent@{other}.service", f"culture-agent@{other}.socket", "culture-ircd.service"):
        for verb in ("stop", "restart", "kill", "disable"):
            yield ["systemctl", "--no-ask-password", verb, unit]
    yield [
        "systemctl",
        "--no-ask-password",
        "set-property",
        "--runtime",
        f"culture-agent@{other}.service",
        "CPUQuota=1%",
    ]
    yield ["systemctl", "--no-ask-password", "poweroff"]
    yield ["systemd-run", "--no-ask-password", "--uid=0", "true"]
    yield ["systemd-run", "--user", "true"]
    manager = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"]
    yield ["busctl", "call", *manager, "StopUnit", "ss", f"culture-agent@{other}.service", "replace"]
    yield ["runuser", "--user", f"culture-{other}", "--", "true"]
    yield ["unshare", "--user", "--map-root-user", "true"]
    for place in (
        "/etc/culture/agents.yaml", "/etc/culture/ircd.yaml", "/etc/culture/credentials/x", "/run/culture/x",
        "/etc/systemd/system/x", "/run/systemd/system/x", "/usr/lib/culture/x",
        f"/var/lib/culture/agents/{other}/x", "/var/lib/culture/ircd/x", "/etc/passwd",
    ):  # fmt: skip
        yield ["sh", "-c", f"echo x >> {place}"]


def run(command: list[str]) -> int:
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.returncode


def ipc(other: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"/run/culture/{other}.sock")
            return "connected"
    except OSError as error:
        return type(error).__name__


def signalled() -> list[int]:
    """Every process that takes a signal of ours, and is not our own."""
    reached = []
    for pid in PIDS:
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            if os.stat(f"/proc/{pid}").st_uid != os.geteuid():
                os.kill(pid, signal.SIGKILL)
                reached.append(pid)
    return reached


def main() -> None:
    # Not readable in our own command line, where we look for secrets.
    other, words = sys.argv[1], json.loads(base64.b64decode(sys.argv[2]))
    report = {
        "uid": os.geteuid(),
        "in files": secrets_in_files(),
        "in processes": secrets_in_processes(),
        "in environment": in_environment(),
        "server": dict(speaking(other, words)),
        "commands": {" ".join(command): run(command) for command in commands(other)},
        "ipc": ipc(other),
        "signalled": signalled(),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
