"""Write down what a backend reports of a turn, for `culturectl log`."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from culture.agent.contract import (
    Assistant,
    ContextChanged,
    Message,
    RateLimit,
    Result,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UsageReport,
)
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.turns.turns import EndedTurn, Turn
from culture.errors import CultureError
from culture.store.agent.transcript import Step, StepKind, Transcript

# The id of turns that the backend began by itself.
UNASKED: Final = "unasked"


class Transcriber:
    """Writes every message when it comes. An agent whose transcript cannot be written works on without."""

    def __init__(self, transcript: Transcript, story: JournalEvents, now_ms: Callable[[], int]) -> None:
        self._transcript = transcript
        self._story = story
        self._now_ms = now_ms
        self._is_failing = False

    def began(self, turn: Turn, prompt: str) -> None:
        self._write(lambda: self._begin(turn.id, turn.senders, turn.question.channel or "", prompt))

    def received(self, message: Message) -> None:
        self._write(lambda: self._take(message))

    def ended(self, ended: EndedTurn) -> None:
        self._write(lambda: self._transcript.end(ended.outcome, ended.error, self._now_ms()))

    def _begin(self, id: str, senders: str, place: str, prompt: str) -> None:
        self._transcript.begin(id, senders, place, self._now_ms())
        if prompt:
            self._transcript.add(Step(StepKind.PROMPT, prompt), self._now_ms())

    def _take(self, message: Message) -> None:
        match message:
            case Assistant() | ToolResult():
                if not self._transcript.has_turn:
                    self._begin(UNASKED, "", "", "")
                for step in steps_of(message):
                    self._transcript.add(step, self._now_ms())
            case Result(asked=False):
                outcome = "failed" if message.failed else "silent"
                self._transcript.end(outcome, message.error, self._now_ms())
            case Result() | ContextChanged() | UsageReport() | RateLimit():
                return

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except CultureError as error:
            if not self._is_failing:
                self._story.not_transcribed(error)
            self._is_failing = True
        else:
            self._is_failing = False


def steps_of(message: Assistant | ToolResult) -> list[Step]:
    if isinstance(message, ToolResult):
        result = Step(StepKind.RESULT, message.text, call=message.id, parent=message.parent)
        return [result._replace(failed=message.failed)]
    steps = []
    for block in message.content:
        match block:
            case Text(text):
                steps.append(Step(StepKind.TEXT, text, parent=message.parent))
            case Thinking(text):
                steps.append(Step(StepKind.THINKING, text, parent=message.parent))
            case ToolUse(id, name, given):
                steps.append(Step(StepKind.TOOL, _as_json(given), name, id, message.parent))
    return steps


def _as_json(given: Mapping[str, Any]) -> str:
    return json.dumps(given, ensure_ascii=False, default=str)
