"""Telling the service manager: ready, what we are doing, still alive, stopping.

Outside a service manager, without $NOTIFY_SOCKET, every call is a no-op.
"""

import asyncio
from collections.abc import Callable, Mapping

import sdnotify


class Notifier:
    def __init__(self) -> None:
        self._notifier = sdnotify.SystemdNotifier()
        self._status = ""

    def ready(self, status: str) -> None:
        self._status = status
        self._notifier.notify(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        """What `systemctl status` shows. Saying the same again costs nothing."""
        if status != self._status:
            self._status = status
            self._notifier.notify(f"STATUS={status}")

    def reloading(self) -> None:
        self._notifier.notify("RELOADING=1")

    def stopping(self, status: str) -> None:
        self._notifier.notify(f"STOPPING=1\nSTATUS={status}")

    def alive(self) -> None:
        self._notifier.notify("WATCHDOG=1")


def watchdog_interval_s(env: Mapping[str, str], pid: int) -> float | None:
    """How often to say that we are alive: three times within what the manager allows."""
    if env.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    usec = env.get("WATCHDOG_USEC", "")
    return int(usec) / 3e6 if usec.isdecimal() and int(usec) else None


async def keep_alive(notifier: Notifier, interval_s: float | None, is_alive: Callable[[], bool]) -> None:
    """Feed the watchdog from the loop itself, and only while what the program is for works."""
    while interval_s is not None:
        if is_alive():
            notifier.alive()
        await asyncio.sleep(interval_s)
