"""Restart a service when it ends, with exponential back-off."""

import asyncio
import contextlib
from typing import Any

from culture.ctl.up.child_process import Child, Service
from culture.ctl.up.console import Console, describe_exit
from culture.ctl.up.fd_store import ChildFdStore
from culture.ctl.up.processes import Reaper

# Usage, permission and configuration errors: a restart would fail again (RestartPreventExitStatus=).
NO_RESTART_STATUSES = (64, 77, 78)
_MAX_BACKOFF_S = 60.0
# The back-off is reset after a run of this length.
_RESET_AFTER_S = 60.0


def backoff_s(failures: int) -> float:
    """Return the delay before the next start: 1, 2, 4 … seconds."""
    return min(2.0 ** min(failures - 1, 10), _MAX_BACKOFF_S)


class Restarter:
    """Keeps one service running. Call `start` once, then `ready` any number of times, then `stop`."""

    def __init__(self, service: Service, reaper: Reaper, console: Console) -> None:
        self.service = service
        # Done when the service ended with a status that prevents a restart.
        self.failed: asyncio.Task[int]
        self._reaper = reaper
        self._console = console
        self._was_ready = asyncio.Event()
        self._is_restart_suppressed = False

    def start(self) -> None:
        """Start the service in the background."""
        self.failed = asyncio.create_task(self._run(), name=self.service.name)

    async def ready(self) -> bool:
        """Wait until the service has been ready once. Return False if it failed before that."""
        was_ready = asyncio.create_task(self._was_ready.wait())
        try:
            await asyncio.wait([was_ready, self.failed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            was_ready.cancel()
        return self._was_ready.is_set()

    def suppress_restart(self) -> None:
        """Do not restart or report the service when it ends, because it is about to be killed."""
        self._is_restart_suppressed = True

    async def stop(self) -> None:
        """Stop the service and wait until it has ended."""
        self.failed.cancel()
        await asyncio.wait([self.failed])

    async def _run(self) -> int:
        loop = asyncio.get_running_loop()
        failures = 0
        with contextlib.closing(ChildFdStore(self.service.fd_store_max)) as store:
            while True:
                began = loop.time()
                status = await self._run_once(store)
                if self._is_restart_suppressed:
                    return status
                failures = 1 if loop.time() - began > _RESET_AFTER_S else failures + 1
                exited = f"{self.service.name} {describe_exit(status)}"
                if status in NO_RESTART_STATUSES:
                    self._console.say(f"{exited}; it is not restarted")
                    return status
                self._console.say(f"{exited}; restarting it in {backoff_s(failures):g} s")
                await asyncio.sleep(backoff_s(failures))

    async def _run_once(self, store: ChildFdStore) -> int:
        child = await Child.start(self.service, self._reaper, self._console, store)
        try:
            await self._wait_ready(child)
            return await asyncio.shield(child.exited)
        finally:
            await child.stop()

    async def _wait_ready(self, child: Child) -> None:
        either: list[asyncio.Future[Any]] = [child.ready, child.exited]
        await asyncio.wait(either, timeout=self.service.start_s, return_when=asyncio.FIRST_COMPLETED)
        if child.ready.done():
            self._was_ready.set()
        elif not child.exited.done():
            self._console.say(f"{self.service.name} was not ready within {self.service.start_s:g} s")
            await child.stop()
