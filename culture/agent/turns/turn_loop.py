"""Run turns: feed queued messages to the backend until each is answered once or given up with a notice.

The order of writes makes it safe to kill the process between any two of them:

1. Somebody writes to the agent. The daemon commits the message as queued, together with the read mark. If it
   is killed before that, it finds the message again in the server's history after the restart. If it is
   killed after that, the message is known by its msgid, and receiving it again changes nothing.
2. The daemon commits the message as injected, then sends it to the backend. If it is killed in between, the
   message is repeated, marked as a repeat.
3. The agent answers on IRC, or the daemon posts the final text of the turn. Once the server has the answer,
   the daemon commits the message as answered, together with the read mark behind the answer. If it is killed
   in between, the answer is in the server's history behind the mark. So a restart replays history first and
   requeues unanswered messages after that. The same holds if the backend dies while the connection is lost:
   no turn begins before history is replayed.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from culture.agent.contract import Result
from culture.agent.reporting.alerts import Alert, AlertKind, OnAlert
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.sender_alerts import alert_senders, alert_stopped
from culture.agent.reporting.transcript import Transcriber
from culture.agent.tools.whispers import Whispers
from culture.agent.turns.backend_port import Backend, Continuation
from culture.agent.turns.gate import Gate, HeldBack, HoldKind
from culture.agent.turns.interruption import Fate, Interruption
from culture.agent.turns.prompt import format_prompt
from culture.agent.turns.queue_limits import QueueLimits
from culture.agent.turns.read_messages import ReadMessages
from culture.agent.turns.retry import retry_delay_s
from culture.agent.turns.turns import EndedTurn, Turn, Turns
from culture.config.agents import TurnsConfig
from culture.errors import CultureError, TemporaryError
from culture.names import Folded, fold
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueuedMessage, QueueEntry, QueueState
from culture.store.ledger.records import Use

# How long an interrupted turn may take to end before the backend is killed.
INTERRUPT_TIMEOUT_S: Final = 30.0


class TurnLoop:
    """Takes messages from the queue on disk, runs one turn at a time, and records the outcome."""

    def __init__(
        self,
        file: AgentFile,
        backend: Backend,
        turns: Turns,
        limits: TurnsConfig,
        gate: Gate,
        journal: JournalEvents,
        on_alert: OnAlert,
        post_final_text: Callable[[Turn], Awaitable[None]],
        transcriber: Transcriber,
        whispers: Whispers,
        continuation: Continuation,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        on_change: Callable[[], None],
    ) -> None:
        self._file = file
        self._backend = backend
        self._turns = turns
        self._limits = limits
        self._gate = gate
        self._journal = journal
        self._on_alert = on_alert
        self._post = post_final_text
        self._transcriber = transcriber
        self._whispers = whispers
        self._continuation = continuation
        self._clock = clock
        self._wall_clock = wall_clock
        self._on_change = on_change
        self._queue_limits = QueueLimits(file, limits.expiry_s, on_alert, clock=clock, wall_clock=wall_clock)
        self.read_messages = ReadMessages(file.queue)
        # What the next prompt tells the agent, besides messages.
        self._notes: list[str] = []
        self._woken = asyncio.Event()
        # No turn begins before the replay of history shows which messages were answered already.
        self._is_caught_up = False
        self._is_recovered = False
        self._is_stopping = False
        self._crashed_turn: EndedTurn | None = None
        # The result of the running turn, if its final text is still to be posted.
        self._unposted: tuple[Result, Use] | None = None
        # Conversations in which the agent is sending a question of its own.
        self._asking: Counter[Folded] = Counter()
        self._failures = 0
        self._not_before_s = 0.0
        # When `_not_before_s` was last compared with the clock. It may have passed since then.
        self._checked_at_s = 0.0
        # Why the queued messages start no turn, since the gate was asked last.
        self.held_back: HeldBack | None = None

    def enqueue(self, question: QueuedMessage) -> bool:
        """Commit a message to the queue and return whether it is new."""
        with self._file.at_once():
            is_new = self._file.queue.add(question, self._now_ms())
        if is_new:
            self._queue_limits.reject_overflow(question)
            self.wake()
        return is_new

    def add_note(self, note: str) -> None:
        """Tell the agent something at the beginning of its next turn."""
        self._notes.append(note)

    def wake(self) -> None:
        """Make the loop check again whether a turn can begin."""
        self._woken.set()

    def agent_spoke(self, conversation: str, text: str, msgid: str = "") -> None:
        """Record that the agent wrote to a conversation, which answers its oldest open message there."""
        is_question = self._asking[fold(conversation)] > 0
        if not is_question:
            self._turns.agent_spoke()
            self.read_messages.spoke(conversation, text)
        with self._file.at_once():
            if not is_question:
                self._file.queue.answer_one(conversation, self._now_ms())
            if msgid:
                self._file.hearing.add_own(msgid)

    @contextlib.contextmanager
    def asking(self, conversation: str) -> Iterator[None]:
        """Treat what the agent writes to the conversation meanwhile as its own question, not as an answer."""
        self._asking[fold(conversation)] += 1
        try:
            yield
        finally:
            self._asking[fold(conversation)] -= 1

    def connection_lost(self) -> None:
        """Begin no turn until the next connection has replayed what was missed."""
        self._is_caught_up = False

    def caught_up(self) -> None:
        """Allow turns: history is replayed. The first time, requeue what the last process left unanswered."""
        self._is_caught_up = True
        if not self._is_recovered:
            self._is_recovered = True
            self._queue_limits.requeue_after_crash(self._limits.crashes)
        self.wake()

    async def run(self) -> None:
        """Run turns until cancelled."""
        while True:
            await self._wait_for_work()
            self._queue_limits.expire_old_messages()
            self._queue_limits.prune_done_entries()
            await self._post_final_text()
            await self._interrupt_turn()
            await self._begin()
            self._on_change()

    def stop(self) -> None:
        """Begin no more turns, and log turns that fail from now on as expected."""
        self._is_stopping = True

    def requeue_unanswered(self, why: str = "the agent was stopped") -> None:
        """End the running turn and requeue its unanswered messages, because the backend was stopped."""
        self._crashed_turn = None
        self._end_turn(why)
        with self._file.at_once():
            self._file.queue.requeue(self._now_ms(), is_crash=False)

    def interrupt(self, interruption: Interruption) -> Turn | None:
        """Have the running turn interrupted and return it; return None if no turn runs any more."""
        turn = self._turns.current
        if turn is None or self._unposted is not None:
            return None
        # What somebody stopped stays stopped, whatever else is to interrupt it.
        if turn.is_stopped and interruption.fate is not Fate.STOPPED:
            return None
        turn.interruption = interruption
        self.wake()
        return turn

    # The beginning of a turn

    async def _begin(self) -> None:
        if self._turns.current is not None or not self._may_begin():
            return
        entries, self.held_back = self._next_entries()
        if not entries:
            return
        turn = self._turns.begin(entries)
        self.read_messages.turn_began()
        with self._file.at_once():
            self._file.queue.inject(entries, turn.id, self._now_ms())
        self._journal.turn_began(turn)
        advice = self._whispers.take_for_turn()
        notes, self._notes = [f"[IRC note] {note}" for note in self._notes], []
        prompt = format_prompt(entries, [*notes, *map(str, advice.whispers)])
        self._transcriber.began(turn, prompt)
        # If the backend exits now, BackendRunner notices and calls `backend_crashed`, which ends the turn.
        try:
            if not await self._continuation.resume(entries):
                await self._backend.send_prompt(prompt, effort=advice.effort)
        except TemporaryError:
            self._whispers.put_back(advice.whispers)

    def _next_entries(self) -> tuple[list[QueueEntry], HeldBack | None]:
        """Return the messages of the next turn, or none and the reason of the gate."""
        first: HeldBack | None = None
        held: list[str] = []
        while entries := self._file.queue.next(but_not=held):
            held_back = self._gate.holds_back(entries)
            if held_back is None:
                return self._continuation.first(entries), None
            first = first or held_back
            if held_back.kind not in (HoldKind.LOOP, HoldKind.ANSWER):
                return [], held_back
            # Other conversations go on.
            held.append(entries[0].question.conversation)
        if not held:
            self._queue_limits.queue_is_empty()
        return [], first

    def _may_begin(self) -> bool:
        is_there = self._backend.is_running and not self._backend.is_paused
        self._checked_at_s = self._clock()
        is_time = self._checked_at_s >= self._not_before_s
        return is_there and is_time and self._is_caught_up and not self._is_stopping

    async def _wait_for_work(self) -> None:
        """Wait for `wake` or for the next deadline."""
        times = list(self._deadlines())
        delay_s = max(min(times) - self._clock(), 0) if times else None
        try:
            async with asyncio.timeout(delay_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    def _deadlines(self) -> Sequence[float]:
        times = []
        turn = self._turns.current
        if turn is not None:
            times.append(turn.stalls_at_s(self._limits.stall_timeout_s))
        elif self._not_before_s > self._checked_at_s:
            times.append(self._not_before_s)
        if (expires_at_s := self._queue_limits.expires_at_s()) is not None:
            times.append(expires_at_s)
        return times

    # The end of a turn

    def turn_ended(self, result: Result, use: Use) -> None:
        """End the running turn; post its final text first if the agent wrote nothing on IRC."""
        turn = self._turns.current
        is_silent = turn is not None and not (turn.has_spoken or turn.is_stopped)
        if turn is not None and is_silent and turn.final_text and not (result.failed or result.deferred):
            self._unposted = result, use
            self.wake()
        else:
            self._end(result, use)

    async def _post_final_text(self) -> None:
        """Post the final text, then end the turn. A restart before that repeats the turn."""
        turn = self._turns.current
        if self._unposted is None or turn is None:
            return
        result, use = self._unposted
        note = ""
        try:
            await self._post(turn)
            turn.has_spoken = True
        except CultureError as error:
            note = f"the answer could not be sent: {error}"
        self._unposted = None
        self._end(result, use, note)

    def _end(self, result: Result, use: Use, note: str = "") -> None:
        error = result.error
        turn = self._turns.current
        if error and turn is not None and turn.interruption is not None:
            error = turn.interruption.why
        ended = self._end_turn(error)
        if ended is None:
            return
        with self._file.at_once():
            if note:
                self._file.queue.give_up(self._file.queue.injected(), note, self._now_ms())
            elif not error:
                state = QueueState.ANSWERED if ended.turn.has_spoken else QueueState.SILENT
                self._file.queue.end_all(state, self._now_ms())
                self._file.queue.answer(self.read_messages.answered, ended.turn.id, self._now_ms())
        self._journal.turn_ended(ended, use, is_expected=self._is_stopping)
        if not error:
            self._failures = 0
            if not (ended.turn.is_stopped or result.deferred):
                self._on_alert(Alert(AlertKind.COMPLETE, f'finished task "{ended.turn.task}"'))
        elif self._backend.is_running and not self._is_stopping:
            self._failed(ended, result.status)
        else:
            # The backend died during the turn; BackendRunner calls `backend_crashed` next.
            self._crashed_turn = ended
        self.wake()

    def _end_turn(self, error: str) -> EndedTurn | None:
        ended = self._turns.end(error)
        if ended is not None:
            self._transcriber.ended(ended)
            alert_stopped(self._on_alert, ended.turn)
        return ended

    def _failed(self, ended: EndedTurn, status: int | None) -> None:
        if ended.turn.is_stopped:
            return
        if ended.turn.interruption is not None and ended.turn.interruption.fate is Fate.REPEATED:
            with self._file.at_once():
                self._file.queue.requeue(self._now_ms(), is_crash=False)
            return
        self._failures += 1
        left = self._file.queue.injected()
        again_s = retry_delay_s(status, self._failures) if left else None
        with self._file.at_once():
            if again_s is None:
                self._file.queue.give_up(left, ended.error, self._now_ms())
            else:
                self._file.queue.requeue(self._now_ms(), is_crash=False)
                self._not_before_s = self._clock() + again_s
        # Report the first failure and the last one, not every retry.
        if self._failures == 1 or again_s is None:
            again = "" if again_s is None else f"; trying again in {again_s:.0f} s"
            alert_senders(
                self._on_alert,
                AlertKind.FAILED,
                f"turn {ended.turn.id} failed: {ended.error}{again}",
                ended.turn.entries,
            )
        if again_s is None:
            self._failures = 0

    def backend_crashed(self, why: str, again_s: float | None) -> None:
        """Requeue the messages of the running turn and report the crash.

        `again_s` is the delay until the backend is started again, or None if it is not.
        """
        told = why if again_s is None else f"{why}; starting it again in {again_s:.0f} s"
        if self._unposted is not None:
            # The turn is complete except for its final text, which is being posted.
            self._on_alert(Alert(AlertKind.CRASHED, told))
            return
        ended = self._end_turn(why)
        if ended is not None:
            self._journal.turn_ended(ended, Use(), is_expected=self._is_stopping)
        ended, self._crashed_turn = ended or self._crashed_turn, None
        given_up = self._queue_limits.requeue_after_crash(self._limits.crashes)
        # Tell those who were answered, too: the agent may have had more to say.
        broken = [entry for entry in ended.turn.entries if entry.number not in given_up] if ended else []
        if ended is not None and broken and not ended.turn.is_stopped:
            alert_senders(
                self._on_alert, AlertKind.CRASHED, f"turn {ended.turn.id} broke off: {told}", broken
            )
        else:
            self._on_alert(Alert(AlertKind.CRASHED, told))

    async def _interrupt_turn(self) -> None:
        """Interrupt the running turn if that was requested, or if the turn has stalled."""
        turn = self._turns.current
        if turn is None or self._unposted is not None:
            return
        if turn.interruption is None:
            timeout_s = self._limits.stall_timeout_s
            if self._clock() < turn.stalls_at_s(timeout_s):
                return
            self._journal.turn_stalled(turn, timeout_s)
            turn.interruption = Interruption(f"no activity for {timeout_s:.0f} s", Fate.GIVEN_UP)
        if await self._interrupt_and_wait(turn):
            return
        await self._backend.give_up("the turn did not end when it was interrupted")

    async def _interrupt_and_wait(self, turn: Turn) -> bool:
        try:
            async with asyncio.timeout(INTERRUPT_TIMEOUT_S):
                # A backend that has just exited needs no interrupt.
                with contextlib.suppress(TemporaryError):
                    await self._backend.interrupt()
                while self._turns.current is turn and self._unposted is None:
                    await self._woken.wait()
                    self._woken.clear()
        except TimeoutError:
            return False
        return True

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)
