"""Run long commands in slices, so that no client makes the others wait.

A command that may take long is a generator: it yields after each piece of work, such as one target of a JOIN
or one row of a LIST. When its slice is over, the rest of it waits until the driver says that it is its turn
again. The lines that the client sends meanwhile wait behind it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from culture.ircd.auth.questions import AccountQuestion

if TYPE_CHECKING:
    from culture.ircd.session import Session

Steps = Iterator[None]

SLICE_S: Final = 0.001


class Slices:
    """Runs long commands and keeps those that are not finished."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._unfinished: list[AccountQuestion[Any]] = []
        # When the last slice of anybody ended, in seconds of the timer.
        self._ended_at = float("-inf")

    def run(self, session: "Session", steps: Steps) -> None:
        """Run a command until it is finished or its slice is over."""
        began_at = self._timer()
        # Many clients that begin at the same moment get one step each, not one slice each.
        is_alone = began_at - self._ended_at > SLICE_S
        ends_at = began_at + (SLICE_S if is_alone else 0.0)
        for _ in steps:
            if self._timer() > ends_at:
                self._put_off(session, steps)
                break
        self._ended_at = self._timer()

    def take(self) -> list[AccountQuestion[Any]]:
        """Return what was put off since the last call. The driver answers each when its turn comes."""
        unfinished, self._unfinished = self._unfinished, []
        return unfinished

    def _put_off(self, session: "Session", steps: Steps) -> None:
        rest: AccountQuestion[None] = AccountQuestion(
            session,
            ask=lambda _: None,
            then=lambda _: self.run(session, steps),
            unavailable=partial(_finish, steps),
            of="slices",
        )
        session.question = rest
        self._unfinished.append(rest)


def _finish(steps: Steps) -> None:
    deque(steps, maxlen=0)
