"""Work behind the traffic: what happened is put aside at once, and seen to in a thread."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

MOST: Final = 10_000
"""What may wait while the work cannot be done. Of more, the oldest is given up."""
EVERY_S: Final = 1.0


class Unfinished(Exception):
    """What work raises that was done in part: what is left, and why."""

    def __init__(self, left: Sequence[object], why: Exception) -> None:
        super().__init__(str(why))
        self.left = left


class Behind(Generic[Item]):
    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Item]], None],
        report: Callable[[str], None],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """`work` gets what was put since the last time, or again what it raised at. `idle` comes after it."""
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
        self._thread.start()

    def put(self, items: Sequence[Item]) -> None:
        """Never waits."""
        self._waiting.extend(items)
        while len(self._waiting) > MOST:
            self._waiting.popleft()
            self._given_up += 1

    def flush(self) -> None:
        """Everything that was put is seen to, or stays and the reason is reported."""
        with self._lock:
            items = self._take()
            try:
                if items:
                    self._work(items)
                items = []
                self._idle()
            except Exception as error:
                left = error.left if isinstance(error, Unfinished) else items
                self._waiting.extendleft(reversed(left))  # type: ignore[arg-type]
                self._fail(error)
            else:
                self._recover()

    def close(self) -> None:
        self._is_over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()

    def _take(self) -> list[Item]:
        items = []
        # Others put meanwhile, and may have to give up what is oldest.
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
