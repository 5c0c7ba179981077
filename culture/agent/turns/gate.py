"""The checks that every turn must pass before it begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from culture.store.agent.queue import QueueEntry


class HoldKind(StrEnum):
    """What has to happen before a turn that is held back may begin."""

    # A person has to answer a question first.
    ANSWER = "answer"
    # Somebody has to raise the budget, or the next day has to begin.
    BUDGET = "budget"
    # The quota of the login has to be renewed.
    QUOTA = "quota"
    # Somebody has to end the halt.
    HALT = "halt"
    # A person has to speak in the conversation, in which agents answered each other too often. Only this
    # conversation is held back.
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Why a turn must not begin."""

    kind: HoldKind
    # One line for people to read.
    why: str


class Gate(Protocol):
    """Decides whether a turn may begin."""

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Return why these messages must not start a turn now, or None if they may.

        Messages that are held back stay queued. The turn loop asks again when a turn has ended, a new message
        was queued or the agent was resumed.
        """

    def closed(self) -> HeldBack | None:
        """Return why no turn may begin now, whatever is queued; None if that depends on the messages.

        The state of the agent is computed from it, so the call must have no effect.
        """


class OpenGate:
    """A gate that lets every turn begin."""

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Return None: every turn may begin."""
        return None

    def closed(self) -> HeldBack | None:
        """Return None: every turn may begin."""
        return None


class Gates:
    """Several gates that must all let a turn begin. The first reason wins, and later gates are not asked.

    The gate that reserves money comes last: its reservation is for a turn that begins.
    """

    def __init__(self, *gates: Gate) -> None:
        self._gates = gates

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Return the first reason, or None if every gate lets the turn begin."""
        return next((reason for gate in self._gates if (reason := gate.holds_back(entries))), None)

    def closed(self) -> HeldBack | None:
        """Return the first reason, or None if no gate is closed."""
        return next((reason for gate in self._gates if (reason := gate.closed())), None)
