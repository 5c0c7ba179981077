"""An event loop whose clock jumps to the next timer instead of waiting, and processes that can be killed."""

import asyncio
import contextlib
import contextvars
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from unittest import mock
from weakref import WeakSet

from culture.agent.reporting import receipts, state_reporter

# When a weekend begins: a Friday at 18:00 UTC, as Unix time.
FRIDAY_S = 1_794_592_800.0
# What one iteration of the loop takes at least. Without it, code that waits for the next tick of the clock
# would wait for ever.
ITERATION_S = 1e-5

_process: contextvars.ContextVar["Process | None"] = contextvars.ContextVar("process", default=None)


class Process:
    """The tasks and timers of one simulated process, so that a kill leaves nothing of it behind."""

    def __init__(self) -> None:
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self.timers: WeakSet[asyncio.TimerHandle] = WeakSet()

    def enter(self) -> contextvars.Context:
        """Return a context in which every task and timer belongs to the process."""
        context = contextvars.copy_context()
        context.run(_process.set, self)
        return context

    async def kill(self) -> None:
        """End all tasks and timers."""
        for timer in list(self.timers):
            timer.cancel()
        while left := [task for task in self.tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left)
        for timer in list(self.timers):
            timer.cancel()


class _Selector(selectors.SelectSelector):
    """Waits for nothing: everything in a weekend happens in this process."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("the weekend stands still: nothing is scheduled any more")
        self._advance(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time. Connections to unix sockets are made by `connect`."""

    def __init__(self) -> None:
        super().__init__(_Selector(self._pass_time))
        self._now_s = 1000.0
        # How far the wall clock is ahead of the monotonic one.
        self._offset_s = FRIDAY_S - self._now_s
        # Called whenever all that was due at a moment is done.
        self.on_quiet: Callable[[], None] = lambda: None
        self.connect: Callable[[asyncio.Protocol, str], None] | None = None

    def time(self) -> float:
        return self._now_s

    def wall_time(self) -> float:
        return self._now_s + self._offset_s

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._offset_s += seconds

    def _pass_time(self, seconds: float) -> None:
        if seconds > 0:
            self.on_quiet()
        self._now_s += max(seconds, ITERATION_S)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        process = _process.get()
        if process is not None:
            process.timers.add(handle)
        return handle

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: Any = None, context: Any = None
    ) -> asyncio.Task[Any]:
        task = super().create_task(coro, name=name, context=context)
        process = (context or contextvars.copy_context()).get(_process)
        if process is not None:
            process.tasks.add(task)
        return task

    async def create_unix_connection(self, protocol_factory: Any, path: Any = None, **options: Any) -> Any:
        assert self.connect is not None
        self.connect(protocol_factory(), str(path))


@contextlib.contextmanager
def virtual_time() -> Iterator[VirtualLoop]:
    """Run the block with a new loop, whose time is also the time of the `time` module."""
    loop = VirtualLoop()
    with (
        # What people are shown while a turn runs changes nothing, and it takes most of the time.
        mock.patch.object(state_reporter, "CHECK_INTERVAL_S", 3600.0),
        mock.patch.object(receipts, "TYPING_INTERVAL_S", 3600.0),
        mock.patch.object(time, "time", loop.wall_time),
        mock.patch.object(time, "monotonic", loop.time),
        contextlib.closing(loop),
    ):
        yield loop
