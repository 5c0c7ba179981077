"""The questions of an agent: on disk before they are on IRC, open until somebody answers, answered once.

The order of writes makes it safe to kill the process between any two of them:

1. The question is committed as asked, then posted, then committed as posted. A process that is killed in
   between finds its own message in the server's history, or posts it again.
2. The answer is committed together with the read mark of the message that gave it. Only the first one counts.
3. The call that waits gets the answer, which is then committed as delivered. If no call waits any more, the
   answer is committed to the queue in the same transaction, and starts a turn.
"""

import asyncio
import textwrap
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from culture.agent.questions.actions import Actions
from culture.agent.questions.answers import Answers
from culture.agent.questions.counter_questions import CounterQuestions
from culture.agent.questions.decision import Answered, Decision, decide
from culture.agent.questions.delivery import answer_prompt, timeout_prompt
from culture.agent.questions.matching import Matcher
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.waiting import AFTER_COUNTER_QUESTION_S, NotAnsweredError, Waiter
from culture.agent.questions.wording import (
    QUOTE_LENGTH,
    answered_line,
    compose,
    new_id,
    quoted,
    without_address,
)
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.turns.turns import Turns
from culture.client.events import Said
from culture.client.splitting import one_line
from culture.config.agent.trust import TrustConfig
from culture.errors import CultureError, TemporaryError
from culture.names import fold
from culture.store.agent.questions import (
    NewQuestion,
    QuestionKind,
    QuestionState,
    StoredQuestion,
    Vote,
)

OnAnswer = Callable[[StoredQuestion], None]


class Questions:
    """Asks, matches answers, decides, and delivers.

    `handlers` receive the answers of kinds that are not for the model, such as budgets, possibly after a
    restart of the agent.
    """

    def __init__(
        self,
        records: QuestionRecords,
        matcher: Matcher,
        trust: TrustConfig,
        actions: Actions,
        turns: Turns,
        *,
        account: str = "",
        people: Sequence[str] = (),
        home: str = "",
        handlers: Mapping[QuestionKind, OnAnswer] | None = None,
        make_id: Callable[[], str] = new_id,
        counter_question_s: float = AFTER_COUNTER_QUESTION_S,
    ) -> None:
        self._records = records
        self._matcher = matcher
        self._answers = Answers(records, matcher, actions, people, self._decide, self._asked_back)
        self._trust = trust
        self._actions = actions
        self._turns = turns
        self._account = account
        # Where to ask if no message started the turn.
        self._home = home
        self._handlers = dict(handlers or {})
        self._make_id = make_id
        self._counter_question_s = counter_question_s
        self._counter_questions = CounterQuestions(actions)
        self._waiters: dict[str, Waiter] = {}
        self._posting: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        # No call of an earlier process waits any more. The answer brings the messages of its turn back, so
        # that the agent does not ask the same twice.
        records.settle_waiting()

    # What the agent asks

    async def ask(
        self,
        kind: QuestionKind,
        text: str,
        place: str = "",
        *,
        options: Sequence[str] = (),
        parameters: str = "{}",
        timeout_s: float | None = None,
    ) -> StoredQuestion:
        """Ask and return the answered question. Raise NotAnsweredError if there is no answer in time."""
        new = self._new(kind, text, place, options, parameters)
        known = self._records.same(new)
        if known is not None and not known.is_open and kind is QuestionKind.ASK:
            # A turn that broke off asks again what it got an answer to.
            self._records.delivered(known, is_used=True)
            return known
        if known is None or not known.is_open or known.id in self._waiters:
            known = self._records.add(new, self._make_id, is_waiting=True)
        else:
            self._records.wait(known, new.turn)
        return await self._wait(known, timeout_s)

    async def _wait(self, question: StoredQuestion, timeout_s: float | None) -> StoredQuestion:
        waiter = self._waiters[question.id] = Waiter(self._counter_question_s)
        try:
            with self._turns.waiting():
                if question.state is QuestionState.ASKED:
                    await self._post(question)
                answered = await waiter.wait(timeout_s)
            self._records.delivered(answered, is_used=True)
            return answered
        except NotAnsweredError as error:
            if timeout_s is not None:
                self._alert(AlertKind.TIMEOUT, f"got no answer to {quoted(question)}: {error}")
            raise
        finally:
            self._waiters.pop(question.id, None)
            self._left(question, waiter)

    def _left(self, question: StoredQuestion, waiter: Waiter) -> None:
        """Deliver in another way what the call that waited did not get."""
        if self._is_stopping:
            # The next process knows by the row that a call waited.
            return
        self._records.wait_no_longer(question)
        for said in waiter.take_unanswered():
            self._actions.on_unread(said)
        stored = self._records.get(question.id)
        if stored is not None and stored.state is QuestionState.ANSWERED:
            self._deliver(stored)

    def file(
        self,
        kind: QuestionKind,
        text: str,
        place: str = "",
        *,
        options: Sequence[str] = (),
        parameters: str = "{}",
        call: str = "",
    ) -> StoredQuestion:
        """Ask without waiting, unless the same is open. `call` is a tool call that the backend keeps."""
        new = self._new(kind, text, place, options, parameters)._replace(call=call)
        known = self._records.same(new)
        if kind is QuestionKind.BUDGET:
            # The text says what is spent, which changes; the budget is the same.
            same = [each for each in self._records.open() if each.parameters == parameters]
            known = next((each for each in same if each.kind is kind), None)
        if known is not None and known.is_open:
            if call:
                self._records.wait(known, new.turn, call)
            return known
        filed = self._records.add(new, self._make_id, is_waiting=bool(call))
        self._spawn(self._post_later(filed))
        return filed

    def use_permission(self, parameters: str) -> bool:
        """Use up a permission for exactly these parameters that came as a message, if there is one."""
        return self._records.use(parameters)

    def stop_turn(self, why: str) -> None:
        """Stop the running turn for good: somebody answered abort."""
        self._actions.stop_turn(why)

    def undelivered(self, id: str) -> None:
        """Deliver an answer again, as a message: the call that waited for it did not get it."""
        question = self._records.undelivered(id)
        if question is not None:
            self._deliver(question)

    def _new(
        self, kind: QuestionKind, text: str, place: str, options: Sequence[str], parameters: str
    ) -> NewQuestion:
        turn = self._turns.current
        message = turn.question if turn is not None else None
        by_person = message is not None and (message.channel or not message.by_agent)
        where = place or (message.conversation if message is not None and by_person else "") or self._home
        named = self._matcher.named(where, text)
        task = without_address(message.text, self._actions.own_nick()) if message is not None else ""
        return NewQuestion(
            kind,
            text,
            where,
            options=tuple(options),
            parameters=parameters,
            task=textwrap.shorten(one_line(task), QUOTE_LENGTH, placeholder=" …"),
            subject=message.msgid if message is not None else "",
            context=f"<{message.sender}> {message.text}" if message is not None else "",
            turn=turn.id if turn is not None else "",
            named=tuple(named),
        )

    async def _post_later(self, question: StoredQuestion) -> None:
        # A question that cannot be posted now is posted after the next connection.
        with suppress(CultureError):
            await self._post(question)

    async def _post(self, question: StoredQuestion) -> None:
        """Post a question. If the server refuses it, withdraw it and raise the error."""
        others = [each for each in self._records.open() if fold(each.place) == fold(question.place)]
        text = compose(question, self._actions.own_nick(), with_id=len(others) > 1)
        self._posting.add(question.id)
        try:
            sent = await self._actions.post(question.place, text)
        except TemporaryError:
            self._schedule(question)
            if question.kind is QuestionKind.ASK:
                raise
            return
        except CultureError:
            self._records.withdraw(question)
            raise
        finally:
            self._posting.discard(question.id)
        self._records.posted(question, sent.msgids)
        self._alert(AlertKind.QUESTION, f"needs input: {quoted(question)}")
        self._decide(question.id)

    # What others answer

    def take(self, said: Said) -> bool:
        """Return whether a message answers a question or asks back, so that it starts no turn."""
        return self._answers.take(said)

    def _asked_back(self, question: StoredQuestion, said: Said) -> bool:
        """Answer a counter-question to an agent that waits. Anything else is a message like any other."""
        if question.id not in self._waiters and not question.call:
            return False
        self._spawn(self._answer_counter_question(question, said))
        return True

    async def _answer_counter_question(self, question: StoredQuestion, said: Said) -> None:
        with suppress(CultureError):
            if await self._counter_questions.answer(question, said):
                return
        waiter = self._waiters.get(question.id)
        if waiter is not None and question.kind is QuestionKind.ASK:
            waiter.asked_back(said)
        else:
            self._actions.on_unread(said)

    def answer(self, id: str, text: str, by: str) -> StoredQuestion:
        """Answer a question for a person at this machine. Raise UsageError if that is not possible."""
        question = self._records.answer_by_person(id, text, by)
        self._answered(question, place="")
        return question

    def _decide(self, id: str, place: str = "") -> None:
        """Decide whether a question is answered or timed out, and look again when time may change that.

        `place` is where the last vote was said.
        """
        decided = self._records.decide(id, self._decision)
        if decided is None:
            return
        question, outcome, is_news = decided
        if isinstance(outcome, Answered):
            self._answered(question, place)
            return
        self._schedule(question, outcome.again_ms)
        if is_news:
            self._timed_out(question)

    def _decision(self, question: StoredQuestion, votes: Sequence[Vote], now_ms: int) -> Decision:
        askers = {self._actions.own_nick(), self._account}
        return decide(question, votes, self._trust, askers, now_ms)

    def _answered(self, question: StoredQuestion, place: str) -> None:
        self._cancel_timer(question.id)
        waiter = self._waiters.get(question.id)
        if waiter is not None and not waiter.answer.done():
            waiter.answer.set_result(question)
        else:
            self._deliver(question)
        # Those who read how somebody decided there need not be told.
        if fold(place) != fold(question.place) or question.authority in ("vote", "consensus"):
            with suppress(CultureError):
                self._actions.notify(question.place, answered_line(question))

    def _deliver(self, question: StoredQuestion) -> None:
        """Deliver an answer for which no call waits any more."""
        handler = self._handlers.get(question.kind)
        if handler is not None:
            handler(question)
            self._records.delivered(question, is_used=True)
        else:
            self._records.deliver_by_queue(question, answer_prompt(question, self._records.now_ms()))
            self._actions.wake()

    # Time

    def _timed_out(self, question: StoredQuestion) -> None:
        action, waiter = self._trust.timeout_action, self._waiters.get(question.id)
        if question.kind is not QuestionKind.ASK or waiter is not None:
            self._alert(
                AlertKind.TIMEOUT, f"got no answer to {quoted(question)} within {self._trust.timeout}"
            )
        if action == "pause":
            return
        why = f"nobody answered question {question.id} within {self._trust.timeout}"
        if waiter is not None:
            if action == "abort":
                self._actions.stop_turn(why)
            waiter.give_up(NotAnsweredError(why))
        elif question.kind is QuestionKind.ASK or question.call:
            self._records.enqueue(timeout_prompt(question, self._trust, self._records.now_ms()))
            self._actions.wake()

    def _schedule(self, question: StoredQuestion, at_ms: int | None = None) -> None:
        self._cancel_timer(question.id)
        if at_ms is not None and not self._is_stopping:
            delay_s = max(at_ms - self._records.now_ms(), 0) / 1000
            loop = asyncio.get_running_loop()
            self._timers[question.id] = loop.call_later(delay_s, self._decide, question.id)

    def _cancel_timer(self, id: str) -> None:
        timer = self._timers.pop(id, None)
        if timer is not None:
            timer.cancel()

    # Restarts

    def own_message(self, place: str, text: str, msgid: str) -> bool:
        """Record a question whose own message the server has as posted; return whether it is one."""
        for question in self._records.open():
            quote = f'"{question.text}"'
            is_same = quote in text or (text in quote and len(text) > len(quote) // 2)
            if question.state is QuestionState.ASKED and is_same and fold(place) == fold(question.place):
                self._records.posted(question, [msgid])
                return True
        return False

    def recover(self) -> None:
        """After each connection: post, deliver and decide what was left, before any turn begins."""
        for question in self._records.undelivered_answers():
            if question.id not in self._waiters:
                self._deliver(question)
        for question in self._records.open():
            if question.state is QuestionState.ASKED and question.id not in self._posting:
                self._spawn(self._post_later(question))
            else:
                self._decide(question.id)

    def stop(self) -> None:
        """Leave all questions open for the next process."""
        self._is_stopping = True
        for id in list(self._timers):
            self._cancel_timer(id)
        for task in self._tasks:
            task.cancel()

    def targets(self) -> list[str]:
        """Return the channels and nicks in which questions are open."""
        return [question.place for question in self._records.open()]

    def rows(self) -> list[dict[str, Any]]:
        """Return the open questions with their votes, as JSON objects."""
        return self._records.rows()

    def renamed(self, old: str, new: str) -> None:
        """Follow a nick change of somebody who was asked."""
        self._records.renamed(old, new)

    def _alert(self, kind: AlertKind, text: str) -> None:
        self._actions.alert(Alert(kind, text))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
