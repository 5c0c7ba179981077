"""Watch an agent's steps, have them judged at intervals, and carry out the verdicts.

A supervisor whispers to its agent and calls people. It never ends the agent's process, changes files, speaks
as the agent or talks to other supervisors. Without activity of the agent it does nothing.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from culture.agent.contract import (
    Assistant,
    Message,
    Result,
    SideAnswer,
    SupervisorBase,
    ToollessModel,
    ToolResult,
    WatchedTask,
)
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.supervision.heartbeat import Heartbeat
from culture.agent.supervision.heuristics import sign_of_a_loop
from culture.agent.supervision.judge import SYSTEM, estimate_tokens, format_evaluation
from culture.agent.supervision.ladder import Escalating, Intervention, Ladder
from culture.agent.supervision.spending_bound import SpendingBound, tokens_of
from culture.agent.supervision.verdict import Verdict, VerdictKind, parse_verdict
from culture.agent.supervision.window import Window
from culture.config.agent.supervisor import HeartbeatConfig, SupervisorConfig
from culture.errors import CultureError

log = logging.getLogger(__name__)

JUDGE_TIMEOUT_S: Final = 120.0


class Supervisor(SupervisorBase):
    """The supervisor of one agent."""

    def __init__(
        self,
        config: SupervisorConfig,
        heartbeat: HeartbeatConfig,
        judge: ToollessModel | None,
        journal: JournalEvents,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Without a judge nothing is evaluated, and only the reminders of `heartbeat` are left."""
        self._config = config
        self._judge = judge
        self._journal = journal
        self._clock = clock
        self._heartbeat = Heartbeat(heartbeat)
        self._window = Window(config.window_size)
        self._ladder = Ladder(config.escalation_threshold)
        self._bound = SpendingBound()
        self._evaluation: asyncio.Task[None] | None = None
        # How many steps were completed since the last evaluation began, or since its remark.
        self._fresh_steps = 0
        # The turn that was escalated. Only a turn that a person allowed comes after it.
        self._escalated_turn: str | None = None
        self._is_over_bound = False

    async def start(self) -> None:
        """Do nothing: observing needs no preparation."""

    async def stop(self) -> None:
        """Cancel the evaluation that is under way."""
        evaluation, self._evaluation = self._evaluation, None
        if evaluation is not None:
            evaluation.cancel()
            await asyncio.gather(evaluation, return_exceptions=True)

    async def observe(self, turn: Message) -> None:
        """Record a message of the backend, and start an evaluation if one is due."""
        now_s = self._clock()
        self._bound.observe(turn)
        reminder = self._heartbeat.observe(turn, now_s)
        if reminder:
            await self._whisper(reminder, VerdictKind.CORRECTION)
        if self._is_after_escalation():
            return
        completed = self._completed_steps(turn, now_s)
        self._fresh_steps += completed
        # The end of a turn leaves nothing to correct.
        if completed and not isinstance(turn, Result):
            self._evaluate_if_due()

    def _task(self) -> WatchedTask | None:
        return self.current_task() if self.current_task is not None else None

    def _completed_steps(self, message: Message, now_s: float) -> int:
        match message:
            case Assistant():
                return self._window.said(message, self._task(), now_s)
            case ToolResult():
                return self._window.returned(message, now_s)
            case Result():
                return self._window.turn_ended(now_s)
            case _:
                return 0

    def _is_after_escalation(self) -> bool:
        """Return whether the escalated turn is still ending; begin anew with the next one."""
        if self._escalated_turn is None:
            return False
        task = self._task()
        if task is None or task.turn == self._escalated_turn:
            return True
        self._escalated_turn = None
        self._window.clear()
        self._fresh_steps = 0
        return False

    def _evaluate_if_due(self) -> None:
        if self._judge is None or (self._evaluation is not None and not self._evaluation.done()):
            return
        steps = self._window.steps
        sign = sign_of_a_loop(steps[-self._fresh_steps :])
        if self._fresh_steps < self._config.eval_interval and not sign:
            return
        prompt = format_evaluation(steps, sign=sign, last_remark=self._ladder.last_remark)
        if not self._bound.allows(estimate_tokens(prompt)):
            if not self._is_over_bound:
                self._journal.evaluation_skipped(self._bound.spent_tokens, self._bound.agent_tokens)
            self._is_over_bound = True
            return
        self._is_over_bound = False
        self._fresh_steps = 0
        self._evaluation = asyncio.create_task(self._evaluate(self._judge, prompt, steps[-1].turn))

    async def _evaluate(self, judge: ToollessModel, prompt: str, turn: str) -> None:
        answer = await self._ask(judge, prompt)
        if answer is None:
            self._bound.spend(estimate_tokens(prompt))
            return
        self._bound.spend(tokens_of(answer.usage) or estimate_tokens(prompt))
        verdict = parse_verdict(answer.text)
        if verdict is None:
            self._journal.judge_failed("its answer is not a verdict and counts as OK")
            verdict = Verdict(VerdictKind.OK)
        await self._carry_out(self._ladder.judged(verdict), turn)

    async def _ask(self, judge: ToollessModel, prompt: str) -> SideAnswer | None:
        try:
            async with asyncio.timeout(JUDGE_TIMEOUT_S):
                return await judge.complete(SYSTEM, prompt)
        except TimeoutError:
            self._journal.judge_failed(f"it did not answer within {JUDGE_TIMEOUT_S:.0f} s")
        except CultureError as error:
            self._journal.judge_failed(str(error))
        except Exception:
            # A bug in the judge's backend costs this evaluation and nothing else.
            log.exception("an evaluation failed")
        return None

    async def _carry_out(self, intervention: Intervention | None, turn: str) -> None:
        if intervention is None:
            return
        # The agent gets as many steps as before the last evaluation to follow the remark.
        self._fresh_steps = 0
        if not isinstance(intervention, Escalating):
            await self._whisper(intervention.text, intervention.kind)
            return
        task = self._task()
        if task is None or task.turn != turn:
            # The turn ended meanwhile, so there is nothing to pause.
            await self._whisper(intervention.reason, VerdictKind.ESCALATION)
            return
        self._escalated_turn = turn
        if self.on_escalation is not None:
            await self.on_escalation(intervention.reason)

    async def _whisper(self, text: str, kind: VerdictKind) -> None:
        self._journal.whispered(kind.value)
        if self.on_whisper is not None:
            await self.on_whisper(text, kind.value)
