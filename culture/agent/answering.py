"""From the queue on disk to the backend and back: every question is answered once, or told to be given up.

What is written before what, so that the process may be killed between any two lines:

1. Somebody speaks. The question is committed as queued, together with how far the network was heard. Killed
   before that, it is heard again after the restart, from the server's history; killed after that, it is known
   by its id, and hearing it again changes nothing.
2. It is committed as injected, then given to the backend. Killed in between, it is repeated all the same.
3. The agent speaks. The server has its words, then the question is committed as answered, together with the
   mark that these words were heard. Killed between the two, history has words of ours behind the mark: they
   are the answer. So a restart reads history first, and puts back what is unanswered after that. A lost
   connection is the same for a backend that died as it spoke: no turn begins before history is read.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from culture.agent.alerts import Alert, Kind, OnAlert
from culture.agent.contract import Message
from culture.agent.gate import Gate
from culture.agent.prompt import format_prompt
from culture.agent.retry import wait_s
from culture.agent.story import Story
from culture.agent.turns import Ended, Turn, Turns
from culture.config.agents import TurnsConfig
from culture.errors import TemporaryError
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import Entry, Question
from culture.store.agent.spending import Use

KNOWN_S: Final = 7 * 86400.0
"""How long it is known what became of a question, so that it is not taken for a new one."""
FORGETS_EVERY_S: Final = 3600.0
MOST_WAITING: Final = 1000
MOST_OF_ONE: Final = 250
"""Of them, by one sender: nobody takes all places from everybody else."""
INTERRUPT_S: Final = 30.0
"""How long an interrupted turn may take to end before its backend is ended by force."""


class Backend(Protocol):
    """What is needed of whoever keeps the backend running."""

    @property
    def is_running(self) -> bool: ...

    @property
    def is_paused(self) -> bool: ...

    async def send_prompt(self, text: str) -> None: ...

    async def interrupt(self) -> None: ...

    async def give_up(self, why: str) -> None: ...


class Answering:
    def __init__(
        self,
        file: AgentFile,
        backend: Backend,
        turns: Turns,
        limits: TurnsConfig,
        gate: Gate,
        story: Story,
        on_alert: OnAlert,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        today: Callable[[], str],
        on_change: Callable[[], None],
    ) -> None:
        self._file = file
        self._backend = backend
        self._turns = turns
        self._limits = limits
        self._gate = gate
        self._story = story
        self._on_alert = on_alert
        self._clock = clock
        self._wall_clock = wall_clock
        self._today = today
        self._on_change = on_change
        self._woken = asyncio.Event()
        # Nothing begins before history told what was answered already, also after the connection was lost.
        self._is_caught_up = False
        self._is_recovered = False
        self._is_stopping = False
        # Where it was told to whom that there is no room, until there is.
        self._refused: set[tuple[str, str]] = set()
        self._broken_off: Ended | None = None
        self._failures = 0
        self._not_before_s = 0.0
        self._forgets_at_s = 0.0
        self.held_back_by = ""

    def take(self, question: Question) -> bool:
        """On disk when this returns. Whether it is new."""
        with self._file.at_once():
            is_new = self._file.queue.add(question, self._now_ms())
        if is_new:
            self._refuse_what_is_too_much(question)
            self.wake()
        return is_new

    def _refuse_what_is_too_much(self, newest: Question) -> None:
        text = f"given up: {MOST_WAITING} messages are waiting already"
        too_many = self._file.queue.beyond(MOST_WAITING)
        if not too_many:
            text = f"given up: {MOST_OF_ONE} messages of yours are waiting already"
            too_many = self._file.queue.beyond_of(newest.sender, MOST_OF_ONE)
        if not too_many:
            self._refused.discard((newest.conversation, newest.sender))
            return
        with self._file.at_once():
            self._file.queue.give_up(too_many, "too much was waiting", self._now_ms())
        # Each of them once: who talks too much is not to make us do the same.
        askers = {(entry.question.conversation, entry.question.sender): entry for entry in too_many}
        news = [entry for asker, entry in askers.items() if asker not in self._refused]
        self._refused.update(askers)
        self._tell(Kind.GIVEN_UP, text, news)

    def wake(self) -> None:
        """Something changed that may let a turn begin."""
        self._woken.set()

    def spoke(self, conversation: str, msgid: str = "") -> None:
        """The agent's own words were heard where it was asked."""
        self._turns.spoke()
        with self._file.at_once():
            self._file.queue.answer_one(conversation, self._now_ms())
            if msgid:
                self._file.hearing.add_own(msgid)

    def cut_off(self) -> None:
        """There is no connection: nobody hears what a turn says, or knows what was said."""
        self._is_caught_up = False

    def caught_up(self) -> None:
        """History is read. What a process before this one left unanswered waits again."""
        self._is_caught_up = True
        if not self._is_recovered:
            self._is_recovered = True
            self._put_back()
        self.wake()

    async def run(self) -> None:
        while True:
            await self._something_happens()
            self._give_up_what_is_too_old()
            self._forget_what_is_long_done()
            await self._end_what_stalls()
            await self._begin()
            self._on_change()

    def stop(self) -> None:
        """From now on no turn begins, and what ends is not its own fault."""
        self._is_stopping = True

    def stopped(self) -> None:
        """The backend has ended; what it did not answer waits for the next start."""
        self._turns.end("the agent was stopped")
        with self._file.at_once():
            self._file.queue.requeue(self._now_ms(), is_crash=False)

    # The beginning of a turn

    async def _begin(self) -> None:
        if self._turns.current is not None or not self._may_begin():
            return
        entries = self._file.queue.next()
        if not entries:
            self._refused.clear()
        self.held_back_by = (self._gate.holds_back(entries) or "") if entries else ""
        if not entries or self.held_back_by:
            return
        turn = self._turns.begin(entries)
        with self._file.at_once():
            self._file.queue.inject(entries, turn.id, self._now_ms())
        self._story.turn_began(turn)
        # A backend that ends now is noticed by who watches it, and the turn with it.
        with contextlib.suppress(TemporaryError):
            await self._backend.send_prompt(format_prompt(entries))

    def _may_begin(self) -> bool:
        is_there = self._backend.is_running and not self._backend.is_paused
        is_time = self._clock() >= self._not_before_s
        return is_there and is_time and self._is_caught_up and not self._is_stopping

    async def _something_happens(self) -> None:
        """Somebody wakes us, or it is time for something."""
        times = list(self._times())
        delay_s = max(min(times) - self._clock(), 0) if times else None
        try:
            async with asyncio.timeout(delay_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    def _times(self) -> Sequence[float]:
        times = []
        turn = self._turns.current
        if turn is not None:
            times.append(turn.stalls_at_s(self._limits.stall_timeout_s))
        elif self._not_before_s > self._clock():
            times.append(self._not_before_s)
        oldest_ms = self._file.queue.oldest_ms()
        if oldest_ms is not None:
            times.append(self._clock() + oldest_ms / 1000 + self._limits.expiry_s - self._wall_clock())
        return times

    # The end of a turn

    def ended(self, result: Message, use: Use) -> None:
        error = (result["error"] or "no reason given") if result["failed"] else ""
        turn = self._turns.current
        if error and turn is not None and turn.is_interrupted:
            error = f"it showed no sign of life for {self._limits.stall_timeout_s:.0f} s"
        ended = self._turns.end(error)
        if ended is None:
            return
        with self._file.at_once():
            self._file.spending.add(self._today(), use)
            if not error:
                self._file.queue.answer_all(self._now_ms())
        self._story.turn_ended(ended, use, is_expected=self._is_stopping)
        if not error:
            self._failures = 0
        elif self._backend.is_running and not self._is_stopping:
            self._failed(ended, result["status"])
        else:
            # The backend died of it, and whoever watches it calls `crashed`.
            self._broken_off = ended
        self.wake()

    def _failed(self, ended: Ended, status: int | None) -> None:
        self._failures += 1
        left = self._file.queue.injected()
        again_s = wait_s(status, self._failures) if left else None
        with self._file.at_once():
            if again_s is None:
                self._file.queue.give_up(left, ended.error, self._now_ms())
            else:
                self._file.queue.requeue(self._now_ms(), is_crash=False)
                self._not_before_s = self._clock() + again_s
        # Once: what is tried again and fails again in the same way is no news.
        if self._failures == 1 or again_s is None:
            again = "" if again_s is None else f"; it is tried again in {again_s:.0f} s"
            self._tell(Kind.FAILED, f"turn {ended.turn.id} failed: {ended.error}{again}", ended.turn.entries)
        if again_s is None:
            self._failures = 0

    def crashed(self, why: str, again_s: float | None) -> None:
        """The backend is gone. `again_s` is when it is started again, None if it is not."""
        ended = self._turns.end(why)
        if ended is not None:
            self._story.turn_ended(ended, Use(), is_expected=self._is_stopping)
        ended, self._broken_off = ended or self._broken_off, None
        given_up = self._put_back()
        # Also who was answered: there may have been more to say.
        broken = [entry for entry in ended.turn.entries if entry.number not in given_up] if ended else []
        again = f"; starting it again in {again_s:.0f} s" if again_s is not None else ""
        if ended is not None and broken:
            self._tell(Kind.CRASHED, f"turn {ended.turn.id} broke off: {why}{again}", broken)
        else:
            self._on_alert(Alert(Kind.CRASHED, f"{why}{again}"))

    def _put_back(self) -> set[int]:
        """After a crash it waits again. The numbers of those given up, as every turn with them ends so."""
        limit = self._limits.crashes
        with self._file.at_once():
            self._file.queue.requeue(self._now_ms(), is_crash=True)
            fatal = self._file.queue.fatal(limit)
            self._file.queue.give_up(fatal, f"{limit} turns with it ended in a crash", self._now_ms())
        if fatal:
            self._tell(Kind.GIVEN_UP, f"given up: {limit} turns with your message ended in a crash", fatal)
        return {entry.number for entry in fatal}

    def _give_up_what_is_too_old(self) -> None:
        too_old = self._file.queue.waiting_since(self._now_ms() - int(self._limits.expiry_s * 1000))
        if not too_old:
            return
        with self._file.at_once():
            self._file.queue.give_up(too_old, "it waited for too long", self._now_ms())
        text = f"given up: your message was not looked at within {self._limits.expiry_s:.0f} s"
        self._tell(Kind.GIVEN_UP, text, too_old)

    def _forget_what_is_long_done(self) -> None:
        """Whatever keeps turns from ending: the file grows by what is given up, too."""
        if self._clock() < self._forgets_at_s:
            return
        self._forgets_at_s = self._clock() + FORGETS_EVERY_S
        with self._file.at_once():
            self._file.queue.forget(self._now_ms() - int(KNOWN_S * 1000))

    async def _end_what_stalls(self) -> None:
        turn = self._turns.current
        if turn is None or self._clock() < turn.stalls_at_s(self._limits.stall_timeout_s):
            return
        self._story.turn_stalled(turn, self._limits.stall_timeout_s)
        turn.is_interrupted = True
        if await self._is_ended_by_an_interrupt(turn):
            return
        await self._backend.give_up("it did not end its turn when it was interrupted")

    async def _is_ended_by_an_interrupt(self, turn: Turn) -> bool:
        try:
            async with asyncio.timeout(INTERRUPT_S):
                # One that has just ended needs none.
                with contextlib.suppress(TemporaryError):
                    await self._backend.interrupt()
                while self._turns.current is turn:
                    await self._woken.wait()
                    self._woken.clear()
        except TimeoutError:
            return False
        return True

    # What is told, and when it is

    def _tell(self, kind: Kind, text: str, entries: Sequence[Entry]) -> None:
        """Once in each conversation, to everyone who asked there."""
        senders: dict[str, dict[str, None]] = {}
        for entry in entries:
            senders.setdefault(entry.question.conversation, {})[entry.question.sender] = None
        for conversation, asked in senders.items():
            self._on_alert(Alert(kind, text, (conversation,), ", ".join(asked)))

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)
