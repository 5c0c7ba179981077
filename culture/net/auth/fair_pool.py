"""A thread pool with fair scheduling: clients take turns, so that a busy one delays only itself."""

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class _Job:
    # A client's job with the lowest rank runs next; among equal ranks, the oldest.
    rank: int
    number: int
    run: Callable[[], Any] = field(compare=False)
    then: Callable[[asyncio.Future[Any]], None] = field(compare=False)
    is_wanted: Callable[[], bool] = field(compare=False)


class FairPool:
    """Runs jobs round-robin by client. One client never gets all threads."""

    def __init__(
        self,
        name: str,
        threads: int,
        *,
        now: Callable[[], float],
        ready_at: Callable[[Hashable], float] = lambda client: 0.0,
    ) -> None:
        """`ready_at` returns the time, on the clock of `now`, from which a client's jobs may run."""
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._most_for_one = max(1, threads - 1)
        self._now = now
        self._ready_at = ready_at
        # Jobs by client; the first client is served next.
        self._waiting: dict[Hashable, list[_Job]] = {}
        self._running: Counter[Hashable] = Counter()
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def submit(
        self,
        client: Hashable,
        rank: int,
        run: Callable[[], Any],
        then: Callable[[asyncio.Future[Any]], None],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Run a job in a thread when it is this client's turn, unless `is_wanted` returns false by then."""
        job = _Job(rank, next(self._numbers), run, then, is_wanted)
        heapq.heappush(self._waiting.setdefault(client, []), job)
        self._start_jobs()

    def stop(self) -> None:
        """Drop waiting jobs and start no more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _start_jobs(self) -> None:
        wait_s: float | None = None
        while self._free:
            client, wait_s = self._next_client()
            if client is None:
                break
            jobs = self._waiting.pop(client[0])
            job = heapq.heappop(jobs)
            if jobs:
                # The client queues up behind the others.
                self._waiting[client[0]] = jobs
            if job.is_wanted():
                self._start(client[0], job)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wait_s is not None:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._start_jobs)

    def _next_client(self) -> tuple[tuple[Hashable] | None, float | None]:
        """Return the next client in a 1-tuple, or None and the seconds until a waiting client is ready."""
        now, soonest_s = self._now(), None
        for client in self._waiting:
            if self._running[client] >= self._most_for_one:
                continue
            wait_s = self._ready_at(client) - now
            if wait_s <= 0:
                return (client,), None
            soonest_s = wait_s if soonest_s is None else min(soonest_s, wait_s)
        return None, soonest_s

    def _start(self, client: Hashable, job: _Job) -> None:
        self._free -= 1
        self._running[client] += 1
        running = asyncio.get_running_loop().run_in_executor(self._executor, job.run)
        running.add_done_callback(lambda done: self._end(client, job, done))

    def _end(self, client: Hashable, job: _Job, done: asyncio.Future[Any]) -> None:
        self._free += 1
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        if client in self._waiting:
            # The client was served, so it queues up behind the others.
            self._waiting[client] = self._waiting.pop(client)
        if done.cancelled():
            return
        job.then(done)
        self._start_jobs()
