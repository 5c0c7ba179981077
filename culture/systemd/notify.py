"""Notify systemd about readiness, status, liveness and stopping (sd_notify(3)).

Outside a service manager, without $NOTIFY_SOCKET, every call is a no-op.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import sdnotify

from culture.errors import ConfigError

STATUS_S: Final = 1.0


class Notifier:
    """Sends notifications to systemd."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._notifier = sdnotify.SystemdNotifier() if env.get("NOTIFY_SOCKET") else None
        self._status = ""

    def ready(self, status: str) -> None:
        """Report that the service is ready."""
        self._status = status
        self._tell(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        """Set the text that `systemctl status` shows, if it changed."""
        if status != self._status:
            self._status = status
            self._tell(f"STATUS={status}")

    def reloading(self) -> None:
        """Report that a reload began. Call `ready` afterwards, even if the old configuration stays."""
        self._tell("RELOADING=1")

    def stopping(self, status: str) -> None:
        """Report that the service is stopping."""
        self._tell(f"STOPPING=1\nSTATUS={status}")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._tell("WATCHDOG=1")

    def close(self) -> None:
        """Stop sending notifications."""
        if self._notifier is not None:
            self._notifier.socket.close()
            self._notifier = None

    def _tell(self, state: str) -> None:
        if self._notifier is not None:
            self._notifier.notify(state)


def tell_refusal(body: Callable[[], int], env: Mapping[str, str]) -> int:
    """Run the body of a daemon, and show a configuration error in `systemctl status`."""
    # Create the notifier first, because the daemon may drop $NOTIFY_SOCKET from its environment.
    notifier = Notifier(env)
    try:
        return body()
    except ConfigError as error:
        notifier.status(f"not started: {error}")
        raise
    finally:
        notifier.close()


def watchdog_interval_s(env: Mapping[str, str], pid: int) -> float | None:
    """Return the interval for feeding the watchdog, a third of its timeout, or None without a watchdog."""
    if env.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    usec = env.get("WATCHDOG_USEC", "")
    return int(usec) / 3e6 if usec.isdecimal() and int(usec) else None


async def keep_telling(notifier: Notifier, status: Callable[[], str]) -> None:
    """Update the status text once per STATUS_S seconds."""
    while True:
        notifier.status(status())
        await asyncio.sleep(STATUS_S)


async def keep_alive(notifier: Notifier, interval_s: float | None, is_alive: Callable[[], bool]) -> None:
    """Feed the watchdog from the event loop while `is_alive` returns true."""
    while interval_s is not None:
        if is_alive():
            notifier.alive()
        await asyncio.sleep(interval_s)
