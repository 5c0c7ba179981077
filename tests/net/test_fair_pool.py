"""Threads that all clients share: one client's many questions do not stand in front of everybody's."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable

from culture.net.auth.fair_pool import FairPool

DEADLINE_S = 10.0


class Work:
    """Jobs that note their start, and go on when they are told."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[str] = []
        self._may_end = threading.Semaphore(0)
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def job(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self._loop.call_soon_threadsafe(self._note, name)
            assert self._may_end.acquire(timeout=DEADLINE_S)
            return name

        return run

    def end_one(self) -> None:
        self._may_end.release()

    def done(self, future: asyncio.Future[str]) -> None:
        self.ended.append(future.result())
        self._news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    def _note(self, name: str) -> None:
        self.started.append(name)
        self._news.set()


def pool(threads: int = 2, ready_at: Callable[[Hashable], float] = lambda client: 0.0) -> FairPool:
    return FairPool("test", threads, now=time.monotonic, ready_at=ready_at)


async def test_one_client_leaves_a_thread_to_the_others():
    work, shared = Work(), pool()
    for number in range(5):
        shared.submit("greedy", number, work.job(f"greedy {number}"), work.done)
    shared.submit("other", 0, work.job("other"), work.done)
    await work.until(lambda: len(work.started) == 2)
    assert sorted(work.started) == ["greedy 0", "other"]
    for _ in range(6):
        work.end_one()
    await work.until(lambda: len(work.ended) == 6)
    shared.stop()


async def test_clients_take_turns():
    work, shared = Work(), pool(1)
    for number in range(3):
        shared.submit("a", number, work.job(f"a{number}"), work.done)
    for client in "bc":
        shared.submit(client, 0, work.job(client), work.done)
    for count in range(1, 6):
        await work.until(lambda count=count: len(work.started) == count)
        work.end_one()
    await work.until(lambda: len(work.ended) == 5)
    assert work.started == ["a0", "b", "c", "a1", "a2"]
    shared.stop()


async def test_of_one_client_who_asked_least_comes_first():
    work, shared = Work(), pool(1)
    shared.submit("a", 1, work.job("runs"), work.done)
    shared.submit("a", 7, work.job("seventh of one connection"), work.done)
    shared.submit("a", 1, work.job("first of another"), work.done)
    for _ in range(3):
        work.end_one()
    await work.until(lambda: len(work.ended) == 3)
    assert work.started == ["runs", "first of another", "seventh of one connection"]
    shared.stop()


async def test_what_nobody_wants_any_more_is_left_out():
    work, shared = Work(), pool(1)
    is_here = True
    shared.submit("a", 0, work.job("first"), work.done)
    shared.submit("a", 1, work.job("gone"), work.done, lambda: is_here)
    shared.submit("a", 2, work.job("last"), work.done)
    is_here = False
    work.end_one()
    work.end_one()
    await work.until(lambda: len(work.ended) == 2)
    assert work.started == ["first", "last"]
    shared.stop()


async def test_a_client_that_has_to_wait_holds_up_nobody_else():
    opens_at = {"slow": float("inf")}
    work, shared = Work(), pool(2, lambda client: opens_at.get(client, 0.0))
    shared.submit("slow", 0, work.job("slow"), work.done)
    shared.submit("other", 0, work.job("other"), work.done)
    work.end_one()
    await work.until(lambda: work.ended == ["other"])
    assert work.started == ["other"]
    opens_at["slow"] = 0.0
    # Whatever comes next looks again, as the timer does.
    shared.submit("third", 0, work.job("third"), work.done)
    work.end_one()
    work.end_one()
    await work.until(lambda: len(work.ended) == 3)
    shared.stop()


async def test_a_client_whose_time_has_come_is_served_without_another_reason():
    ready_at = time.monotonic() + 0.05
    work, shared = Work(), pool(1, lambda client: ready_at)
    shared.submit("a", 0, work.job("a"), work.done)
    assert work.started == []
    work.end_one()
    await work.until(lambda: work.ended == ["a"])
    assert time.monotonic() >= ready_at
    shared.stop()
