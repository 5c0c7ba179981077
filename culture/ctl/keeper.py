"""Keeping a service running: started again when it ends, later each time it keeps ending."""

import asyncio
import contextlib
from typing import Any

from culture.ctl.children import Child, Service
from culture.ctl.output import Console, how_it_ended
from culture.ctl.processes import Reaper
from culture.ctl.store import Store

NEVER_AGAIN = (64, 77, 78)
"""Usage, permission and configuration errors: the same again fails the same (RestartPreventExitStatus=)."""
_LONGEST_S = 60.0
_SETTLED_S = 60.0
"""A service that ran this long starts over with the shortest delay."""


def delay_s(failures: int) -> float:
    """1, 2, 4 … seconds before the next try."""
    return min(2.0 ** min(failures - 1, 10), _LONGEST_S)


class Keeper:
    """`start`, then `ready` as often as one likes, then `stop`."""

    def __init__(self, service: Service, reaper: Reaper, console: Console) -> None:
        self.service = service
        self.given_up: asyncio.Task[int]
        """Done when the service ended with a status after which it is not started again."""
        self._reaper = reaper
        self._console = console
        self._was_ready = asyncio.Event()

    def start(self) -> None:
        self.given_up = asyncio.create_task(self._keep(), name=self.service.name)

    async def ready(self) -> bool:
        """Wait until it has been ready once. False: it never will be."""
        was_ready = asyncio.create_task(self._was_ready.wait())
        try:
            await asyncio.wait([was_ready, self.given_up], return_when=asyncio.FIRST_COMPLETED)
        finally:
            was_ready.cancel()
        return self._was_ready.is_set()

    async def stop(self) -> None:
        self.given_up.cancel()
        await asyncio.wait([self.given_up])

    async def _keep(self) -> int:
        loop = asyncio.get_running_loop()
        failures = 0
        with contextlib.closing(Store(self.service.keeps)) as store:
            while True:
                began = loop.time()
                status = await self._run_once(store)
                failures = 1 if loop.time() - began > _SETTLED_S else failures + 1
                told = f"{self.service.name} {how_it_ended(status)}"
                if status in NEVER_AGAIN:
                    self._console.say(f"{told}: not started again")
                    return status
                self._console.say(f"{told}: starting it again in {delay_s(failures):g} s")
                await asyncio.sleep(delay_s(failures))

    async def _run_once(self, store: Store) -> int:
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
