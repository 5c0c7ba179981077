"""Carry out in the daemon what a supervisor decides: whisper to the agent, or call people and pause it."""

from collections.abc import Callable
from typing import Final

from culture.agent.contract import SupervisorBase, WatchedTask
from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.notices import Notices
from culture.agent.tools.whispers import Whispers
from culture.agent.turns.turns import Turn, Turns
from culture.errors import CultureError

# What fits into one notice together with the other words, in bytes.
_REASON_BYTES: Final = 110


class Interventions:
    """What the supervisor of one agent causes. The agent's process is never ended here."""

    def __init__(
        self,
        nick: str,
        turns: Turns,
        whispers: Whispers,
        journal: JournalEvents,
        notices: Notices,
        escalate: Callable[[str], bool],
        *,
        on_error: Callable[[CultureError], None],
    ) -> None:
        """`escalate` pauses the agent, interrupts its turn and returns whether a turn was running."""
        self._nick = nick
        self._turns = turns
        self._whispers = whispers
        self._journal = journal
        self._notices = notices
        self._escalate = escalate
        self._on_error = on_error

    def attach(self, supervisor: SupervisorBase) -> None:
        """Set the callbacks of a supervisor."""
        supervisor.on_whisper = self.whispered
        supervisor.on_escalation = self.escalated
        supervisor.current_task = lambda: watched_task(self._turns.current)

    async def whispered(self, text: str, kind: str) -> None:
        """Queue a whisper. The agent reads it at its next irc call, at the latest before its next turn."""
        self._whispers.add(text, kind)

    async def escalated(self, reason: str) -> None:
        """Pause the agent, interrupt its turn, and tell people where it was asked and where alerts go."""
        turn = self._turns.current
        try:
            is_paused = self._escalate(reason)
        except CultureError as error:
            # The agent's file cannot be written.
            self._on_error(error)
            return
        if turn is None or not is_paused:
            return
        self._whispers.add(f"You were paused over this, and a person was called: {reason}", "ESCALATION")
        self._journal.escalated(turn)
        self._notices.alert(self._alert(turn, reason))

    def _alert(self, turn: Turn, reason: str) -> Alert:
        brief = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
        sentence = brief if brief == reason else f"{brief} …"
        places = dict.fromkeys((turn.question.conversation, *self._notices.alert_places()))
        return Alert(
            AlertKind.SPIRALING,
            f'[ESCALATION] Agent {self._nick} appears stuck on task "{turn.task}". {sentence} '
            f"Awaiting human guidance. Reply @{self._nick} resume/abort",
            tuple(places),
            webhook_text=f'stuck on task "{turn.task}". {reason} Awaiting guidance.',
        )


def watched_task(turn: Turn | None) -> WatchedTask | None:
    """Return what a turn was asked to do, as its supervisor needs it."""
    if turn is None:
        return None
    text = "\n".join(entry.question.text for entry in turn.entries)
    return WatchedTask(turn.id, text, f"{turn.senders} {turn.where}")
