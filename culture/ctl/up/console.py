"""The terminal output of `culturectl up`: lines in the format of journalctl, and how to connect."""

import contextlib
import signal
import time
from collections.abc import Callable
from typing import TextIO

from culture.config.address import Address, TcpAddress

# Control characters are replaced, because a terminal would obey them.
_CONTROLS = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"}


def journal_line(when: time.struct_time, host: str, name: str, pid: int, text: str) -> str:
    """Return a line in the format of journalctl."""
    return f"{time.strftime('%b %d %H:%M:%S', when)} {host} {name}[{pid}]: {text.translate(_CONTROLS)}"


def describe_exit(status: int) -> str:
    """Return how a process ended; `status` is as in Popen.returncode."""
    if status >= 0:
        return f"exited with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def how_to_connect(address: Address, nick: str, channel: str, agent: str | None) -> str:
    """Return the command that starts an IRC client, and what to type there."""
    client = (
        f"irssi -c {address.host} -p {address.port} -n {nick}"
        if isinstance(address, TcpAddress)
        else f"connect to {address} as {nick}"
    )
    typed = [f"/join {channel}", *([f"@{agent} hello"] if agent else [])]
    return f"{client}   then   {'   and   '.join(typed)}"


class Console:
    """Writes the log of `culturectl up`."""

    def __init__(
        self,
        stream: TextIO,
        host: str,
        pid: int,
        now: Callable[[], time.struct_time] = time.localtime,
    ) -> None:
        self._stream = stream
        self._host = host
        self._pid = pid
        self._now = now

    def relay(self, name: str, pid: int, text: str) -> None:
        """Print a line that a child wrote."""
        self._write(journal_line(self._now(), self._host, name, pid, text) + "\n")

    def say(self, text: str) -> None:
        """Print a line of culturectl itself."""
        self.relay("culturectl", self._pid, text)

    def announce(self, text: str) -> None:
        """Print a line in bold with blank lines around it."""
        bold, plain = ("\x1b[1m", "\x1b[0m") if self._stream.isatty() else ("", "")
        self._write(f"\n  {bold}{text}{plain}\n\n")

    def _write(self, text: str) -> None:
        # If the reader is gone (a closed terminal, `| head`), the services still have to be stopped.
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
