"""Run services in the foreground: start them in order, stop them in reverse order."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from culture.ctl.up.child_process import Service
from culture.ctl.up.console import Console
from culture.ctl.up.processes import Reaper, adopt_orphans, kill, kill_until_gone, own_descendants
from culture.ctl.up.restarter import Restarter


@dataclass(frozen=True, slots=True)
class Stage:
    """Services that start together, once those of the previous stage are ready."""

    services: Sequence[Service]
    # Whether everything stops when one of these services fails for good.
    essential: bool


async def run_in_foreground(
    stages: Sequence[Stage], console: Console, when_ready: Callable[[list[Service]], None]
) -> int:
    """Run services until a signal arrives or an essential one fails for good.

    Return 0 after a signal, else the exit status of the service.
    """
    reaper = Reaper()
    adopt_orphans()
    restarters: list[Restarter] = []
    serving = asyncio.create_task(_serve(stages, restarters, reaper, console, when_ready))

    def stop() -> None:
        if serving.cancelling():
            # A second signal: kill instead of waiting.
            for restarter in restarters:
                restarter.suppress_restart()
            kill(own_descendants())
        else:
            console.say("stopping")
            serving.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGCHLD, reaper.reap)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    try:
        await asyncio.wait([serving])
    finally:
        remaining = await kill_until_gone(own_descendants)
    if remaining:
        console.say(f"these processes did not end: {', '.join(map(str, sorted(remaining)))}")
    return 0 if serving.cancelled() else serving.result()


async def _serve(
    stages: Sequence[Stage],
    started: list[Restarter],
    reaper: Reaper,
    console: Console,
    when_ready: Callable[[list[Service]], None],
) -> int:
    essential: list[Restarter] = []
    ready: list[Service] = []
    async with AsyncExitStack() as stack:
        for stage in stages:
            restarters = [Restarter(service, reaper, console) for service in stage.services]
            started += restarters
            for restarter in restarters:
                restarter.start()
            stack.push_async_callback(_stop_all, restarters)
            for restarter in restarters:
                if await restarter.ready():
                    ready.append(restarter.service)
                elif stage.essential:
                    return restarter.failed.result()
            essential += restarters if stage.essential else []
        when_ready(ready)
        failed, _ = await asyncio.wait(
            [restarter.failed for restarter in essential], return_when=asyncio.FIRST_COMPLETED
        )
        return failed.pop().result()


async def _stop_all(restarters: Sequence[Restarter]) -> None:
    await asyncio.gather(*(restarter.stop() for restarter in restarters))
