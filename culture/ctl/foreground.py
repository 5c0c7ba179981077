"""Running services in the foreground: started in order, stopped the other way round, nothing left."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from culture.ctl.children import Service
from culture.ctl.keeper import Keeper
from culture.ctl.output import Console
from culture.ctl.processes import Reaper, adopt_orphans, end_all, kill, ours


@dataclass(frozen=True, slots=True)
class Stage:
    """Services that start at the same time, after those of the stage before are ready."""

    services: Sequence[Service]
    essential: bool
    """Without these the rest has no use: when one gives up, all stop."""


async def run_in_foreground(
    stages: Sequence[Stage], console: Console, when_ready: Callable[[list[Service]], None]
) -> int:
    """Until a signal (0), or until an essential service gives up (its exit status)."""
    reaper = Reaper()
    adopt_orphans()
    serving = asyncio.create_task(_serve(stages, reaper, console, when_ready))

    def stop() -> None:
        if serving.cancelling():
            # Asked twice: whoever asks has waited long enough.
            kill(ours())
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
        left = await end_all(ours)
    if left:
        console.say(f"still running, and not ours to end: {', '.join(map(str, sorted(left)))}")
    return 0 if serving.cancelled() else serving.result()


async def _serve(
    stages: Sequence[Stage],
    reaper: Reaper,
    console: Console,
    when_ready: Callable[[list[Service]], None],
) -> int:
    essential: list[Keeper] = []
    ready: list[Service] = []
    async with AsyncExitStack() as stack:
        for stage in stages:
            keepers = [Keeper(service, reaper, console) for service in stage.services]
            for keeper in keepers:
                keeper.start()
            stack.push_async_callback(_stop_all, keepers)
            for keeper in keepers:
                if await keeper.ready():
                    ready.append(keeper.service)
                elif stage.essential:
                    return keeper.given_up.result()
            essential += keepers if stage.essential else []
        when_ready(ready)
        given_up, _ = await asyncio.wait(
            [keeper.given_up for keeper in essential], return_when=asyncio.FIRST_COMPLETED
        )
        return given_up.pop().result()


async def _stop_all(keepers: Sequence[Keeper]) -> None:
    await asyncio.gather(*(keeper.stop() for keeper in keepers))
