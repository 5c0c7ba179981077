"""Telling the service manager: ready, what we are doing, still alive, stopping.

Outside a service manager, without $NOTIFY_SOCKET, every call is a no-op.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import sdnotify

STATUS_S: Final = 1.0


class Notifier:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._notifier = sdnotify.SystemdNotifier() if env.get("NOTIFY_SOCKET") else None
        self._status = ""

    def ready(self, status: str) -> None:
        self._status = status
        self._tell(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        """What `systemctl status` shows. Saying the same again costs nothing."""
        if status != self._status:
            self._status = status
            self._tell(f"STATUS={status}")

    def reloading(self) -> None:
        """To be followed by `ready`, also when the old configuration stays."""
        self._tell("RELOADING=1")

    def stopping(self, status: str) -> None:
        self._tell(f"STOPPING=1\nSTATUS={status}")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def close(self) -> None:
        if self._notifier is not None:
            self._notifier.socket.close()
            self._notifier = None

    def _tell(self, state: str) -> None:
        if self._notifier is not None:
            self._notifier.notify(state)


def watchdog_interval_s(env: Mapping[str, str], pid: int) -> float | None:
    """How often to say that we are alive: three times within what the manager allows."""
    if env.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    usec = env.get("WATCHDOG_USEC", "")
    return int(usec) / 3e6 if usec.isdecimal() and int(usec) else None


async def keep_telling(notifier: Notifier, status: Callable[[], str]) -> None:
    """What the program is doing, as it changes."""
    while True:
        notifier.status(status())
        await asyncio.sleep(STATUS_S)


async def keep_alive(notifier: Notifier, interval_s: float | None, is_alive: Callable[[], bool]) -> None:
    """Feed the watchdog from the loop itself, and only while what the program is for works."""
    while interval_s is not None:
        if is_alive():
            notifier.alive()
        await asyncio.sleep(interval_s)
