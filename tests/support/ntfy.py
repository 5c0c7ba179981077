"""A real ntfy server on loopback, with a topic that only its token may use."""

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.requirement import unable

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "ntfy"
DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class Ntfy:
    """A running server, the address of its topic, and the token that may write to it and read it."""

    address: str
    topic: str
    token: str

    @property
    def url(self) -> str:
        """The address that webhooks post to."""
        return f"{self.address}/{self.topic}"

    def messages(self) -> list[dict[str, Any]]:
        """What was posted to the topic, the oldest first, as a phone gets it."""
        request = urllib.request.Request(
            f"{self.url}/json?poll=1", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:
            return [json.loads(line) for line in response.read().splitlines()]


@contextlib.contextmanager
def ntfy_server(home: Path) -> Iterator[Ntfy]:
    """Run a server that refuses everybody but the holder of the token."""
    found = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
    if found.returncode:
        unable(f"there is no ntfy server: {found.stderr.strip()}")
    program = found.stdout.strip()
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    config = home / "server.yml"
    config.write_text(
        f'base-url: "http://127.0.0.1:{port}"\nlisten-http: "127.0.0.1:{port}"\n'
        f'cache-file: "{home / "cache.db"}"\nauth-file: "{home / "user.db"}"\nauth-default-access: deny-all\n'
    )
    log = home / "ntfy.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", "--config", config],
            stdout=output, stderr=output, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        _wait_until_up(f"http://127.0.0.1:{port}/v1/health", process, log)
        yield Ntfy(f"http://127.0.0.1:{port}", "ori", _make_token(program, config))
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def _make_token(program: str, config: Path) -> str:
    password = os.environ | {"NTFY_PASSWORD": "sesame-sesame"}
    administer = [program, "user", "--config", config, "add", "culture"]
    subprocess.run(administer, check=True, capture_output=True, env=password)
    subprocess.run(
        [program, "access", "--config", config, "culture", "ori", "rw"], check=True, capture_output=True
    )
    made = subprocess.run(
        [program, "token", "--config", config, "add", "culture"], check=True, capture_output=True, text=True
    )
    return next(word for word in (made.stdout + made.stderr).split() if word.startswith("tk_")).rstrip(",")


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(url, timeout=1).close()
            return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, f"ntfy does not answer: {log.read_text()}"
        time.sleep(0.02)
