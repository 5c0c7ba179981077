"""A background thread that processes queued items and retries after failures."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

# The most queued items; beyond it the oldest are dropped.
MOST: Final = 10_000
EVERY_S: Final = 1.0


class PartialWork(Exception):
    """Raised by `work` that processed only a part of its items: the rest and the reason."""

    def __init__(self, left: Sequence[object], why: Exception) -> None:
        super().__init__(str(why))
        self.left = left


class BackgroundWorker(Generic[Item]):
    """Queues items and passes them to `work` in a thread."""

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Item]], None],
        report: Callable[[str], None],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """`work` gets the items since the last call, or those at which it failed; `idle` runs after it."""
        self._name = name
        self._work = work
        self._idle = idle
        self._report = report
        self._waiting: deque[Item] = deque()
        self._lock = threading.Lock()
        self._wake, self._is_over = threading.Event(), False
        self._is_failing = False
        self._given_up = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, items: Sequence[Item]) -> None:
        """Queue items without waiting."""
        self._waiting.extend(items)
        while len(self._waiting) > MOST:
            self._waiting.popleft()
            self._given_up += 1

    def flush(self) -> None:
        """Process all queued items now; if that fails, keep them and report the reason."""
        with self._lock:
            items = self._take()
            try:
                if items:
                    self._work(items)
                items = []
                self._idle()
            except Exception as error:
                left = error.left if isinstance(error, PartialWork) else items
                self._waiting.extendleft(reversed(left))  # type: ignore[arg-type]
                self._fail(error)
            else:
                self._recover()

    def close(self) -> None:
        """Stop the thread and process what is queued."""
        self._is_over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()

    def _take(self) -> list[Item]:
        items = []
        # The server's thread may drop the oldest items meanwhile.
        with contextlib.suppress(IndexError):
            for _ in range(len(self._waiting)):
                items.append(self._waiting.popleft())
        return items

    def _run(self) -> None:
        while not self._is_over:
            self.flush()
            self._wake.wait(EVERY_S)

    def _fail(self, error: Exception) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._report(f"{self._name} is behind, and tries again: {error}")

    def _recover(self) -> None:
        if self._is_failing:
            self._is_failing = False
            lost, self._given_up = self._given_up, 0
            self._report(f"{self._name} goes on" + (f"; {lost} entries were lost" if lost else ""))
