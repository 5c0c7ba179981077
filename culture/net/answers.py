"""Answers what the core asks, in threads: a password or a search takes long, and nobody else is to wait."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from culture.errors import CultureError
from culture.ircd.auth import Authenticator, Question
from culture.ircd.core import Ircd
from culture.ircd.session import Session
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

THREADS: Final = 2
"""For each: who searches does not keep others from logging in."""


class Answers:
    def __init__(
        self, ircd: Ircd, authenticator: Authenticator | None, on_answer: Callable[[Session], None]
    ) -> None:
        """`on_answer` is told whose question was answered. Without an authenticator nobody can log in."""
        self._ircd = ircd
        self._authenticator = authenticator
        self._on_answer = on_answer
        self._pools = {
            of: ThreadPoolExecutor(THREADS, thread_name_prefix=of) for of in ("accounts", "skills")
        }

    def take(self) -> None:
        """Begins with what the core asked since the last time."""
        loop = asyncio.get_running_loop()
        for question in self._ircd.take_questions():
            if question.session.question is not question:
                # It left in the same turn.
                continue
            asked = loop.run_in_executor(self._pools[question.of], self._ask, question)
            asked.add_done_callback(partial(self._done, question))

    def stop(self) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, question: Question[Any]) -> Any:
        if question.of == "skills":
            return self._ask_skill(question)
        if self._authenticator is None:
            raise CultureError("there are no accounts")
        return question.ask(self._authenticator)

    def _ask_skill(self, question: Question[Any]) -> Any:
        try:
            return question.ask(None)
        except CultureError:
            raise
        except Exception:
            # A skill may be anybody's: what it does wrong costs its answer and nothing else.
            log.exception("a skill failed", extra=fields(peer=question.session.peer))
            raise CultureError("the skill failed") from None

    def _done(self, question: Question[Any], asked: asyncio.Future[Any]) -> None:
        if asked.cancelled():
            return
        session = question.session
        extra = fields(peer=session.peer)
        try:
            try:
                answer = asked.result()
            except CultureError as error:
                wanted = "could not log in" if question.of == "accounts" else "got no answer"
                log.warning("%s %s: %s", session.peer, wanted, error, extra=extra)
                self._ircd.unanswered(question)
            else:
                self._ircd.answered(question, answer)
        except Exception:
            # As for a line that brings out a bug: it costs that client its connection, and nobody else.
            log.exception("closing %s", session.peer, extra=extra)
            self._ircd.close(session, "Internal error")
        self._on_answer(session)
