"""Answer the core's slow questions (passwords, searches, custom authenticators) in worker threads."""

import asyncio
import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

from culture.errors import CultureError
from culture.ircd.auth.questions import AccountQuestion, Asked, Authenticator
from culture.ircd.commands.session.failed_logins import login_ready_at
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.net.auth.fair_pool import FairPool
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# Threads per kind of question, so that searches do not delay logins. One client never gets all of them.
THREADS: Final[dict[Asked, int]] = {"accounts": 2, "skills": 3, "connections": 4}


class WorkerPool:
    """Runs the core's questions in threads and passes the answers back on the event loop."""

    def __init__(
        self, ircd: Ircd, authenticator: Authenticator | None, on_answer: Callable[[Session], None]
    ) -> None:
        """Call `on_answer` with each answered session. Without an authenticator nobody can log in."""
        self._ircd = ircd
        self._authenticator = authenticator
        self._on_answer = on_answer
        self._pools: dict[Asked, FairPool] = {
            of: FairPool(of, threads, now=ircd.timer, ready_at=self._ready_at if of == "accounts" else _now)
            for of, threads in THREADS.items()
        }

    def take(self) -> None:
        """Submit the questions that the core asked since the last call."""
        for question in self._ircd.take_questions():
            if _is_open(question):
                session = question.session
                self._pools[question.of].submit(
                    session.client,
                    # A first question runs before the tenth of another connection of the same client.
                    session.question_count,
                    partial(self._ask, question),
                    partial(self._done, question),
                    partial(_is_open, question),
                )

    def stop(self) -> None:
        """Drop all waiting questions."""
        for pool in self._pools.values():
            pool.stop()

    def _ready_at(self, client: Hashable) -> float:
        return login_ready_at(self._ircd, client)

    def _ask(self, question: AccountQuestion[Any]) -> Any:
        if question.of != "accounts":
            return self._ask_other(question)
        if self._authenticator is None:
            raise CultureError("there are no accounts")
        return question.ask(self._authenticator)

    def _ask_other(self, question: AccountQuestion[Any]) -> Any:
        try:
            return question.ask(None)
        except CultureError:
            raise
        except Exception:
            # Skills and authenticators are foreign code: a bug costs one answer, nothing else.
            what = "skill" if question.of == "skills" else "authenticator"
            log.exception("the %s failed", what, extra=fields(peer=question.session.peer))
            raise CultureError(f"the {what} failed") from None

    def _done(self, question: AccountQuestion[Any], asked: asyncio.Future[Any]) -> None:
        session = question.session
        extra = fields(peer=session.peer)
        try:
            try:
                answer = asked.result()
            except CultureError as error:
                wanted = "could not log in" if question.of == "accounts" else "received no answer"
                log.warning("%s %s: %s", session.peer, wanted, error, extra=extra)
                self._ircd.unanswered(question)
            else:
                self._ircd.answered(question, answer)
        except Exception:
            # A bug in handling the answer costs this client its connection, and nobody else.
            log.exception("closing %s", session.peer, extra=extra)
            self._ircd.close(session, "Internal error")
        self._on_answer(session)


def _is_open(question: AccountQuestion[Any]) -> bool:
    """Return whether the client still waits for this answer."""
    return question.session.question is question


def _now(client: Hashable) -> float:
    return 0.0
