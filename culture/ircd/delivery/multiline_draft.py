"""Collect the lines of a multiline message until its batch ends (IRCv3 draft/multiline)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from culture.ircd.delivery.labels import label_replies
from culture.ircd.delivery.text import size
from culture.ircd.failures import Failure
from culture.names import fold
from culture.protocol.multiline import BATCH_TAG, CONCAT_TAG, Fragment

if TYPE_CHECKING:
    from culture.config.ircd import Limits
    from culture.ircd.server import Ircd
    from culture.ircd.session import Session
    from culture.protocol.line import Line

_SPEECH: Final = frozenset({"PRIVMSG", "NOTICE"})
# Commands that are allowed while a batch is open: they keep the connection alive, or end it or the batch.
_BESIDES: Final = frozenset({"BATCH", "PING", "PONG", "QUIT"})


def invalid_batch(text: str) -> Failure:
    """Return the failure of a malformed batch."""
    return Failure("MULTILINE_INVALID", text=text)


@dataclass(slots=True, eq=False)
class MultilineDraft:
    """The lines of an open batch. A failed batch stays open until its end, so that its rest is ignored."""

    reference: str
    target: str
    tags: Mapping[str, str]
    opened_at: float
    # The label of the BATCH command that opened it: the whole batch counts as one command.
    label: str | None = None
    command: str = ""
    fragments: list[Fragment] = field(default_factory=list)
    size_bytes: int = 0
    is_given_up: bool = False

    def add(self, line: Line, limits: Limits) -> None:
        """Add a line to the message. Raises Failure if it does not belong there or is too much."""
        text, is_joined = line.param(1), CONCAT_TAG in line.tags and bool(self.fragments)
        if line.command not in _SPEECH or line.command != (self.command or line.command):
            raise invalid_batch("A multiline batch has lines of PRIVMSG, or lines of NOTICE")
        if fold(line.param(0)) != fold(self.target):
            raise Failure(
                "MULTILINE_INVALID_TARGET", self.target, line.param(0), text="Invalid multiline target"
            )
        if CONCAT_TAG in line.tags and not text:
            raise invalid_batch("A blank line cannot be joined to the one before")
        self.command = line.command
        self.size_bytes += size(text) + (0 if is_joined or not self.fragments else 1)
        self.fragments.append(Fragment(text, is_joined))
        if self.size_bytes > limits.multiline_length:
            limit = str(limits.multiline_length)
            raise Failure("MULTILINE_MAX_BYTES", limit, text="Multiline batch max-bytes exceeded")
        if 0 < limits.multiline_lines < len(self.fragments):
            limit = str(limits.multiline_lines)
            raise Failure("MULTILINE_MAX_LINES", limit, text="Multiline batch max-lines exceeded")

    def give_up(self) -> None:
        """Discard the lines and ignore those that follow."""
        self.is_given_up = True
        self.fragments.clear()


def collect_line(ircd: Ircd, session: Session, draft: MultilineDraft, line: Line) -> bool:
    """Add a line to the open batch if it belongs there, and return whether it did."""
    reference = line.tags.get(BATCH_TAG)
    if reference is None or line.command == "BATCH":
        if line.command not in _BESIDES and not draft.is_given_up:
            fail_draft(
                ircd, session, draft, invalid_batch(f"{line.command} came before the end of the batch")
            )
        return False
    if draft.is_given_up:
        return True
    try:
        if reference != draft.reference:
            raise invalid_batch("Another batch is open")
        draft.add(line, ircd.limits)
    except Failure as failure:
        fail_draft(ircd, session, draft, failure)
    return True


def expire_draft(ircd: Ircd, session: Session, draft: MultilineDraft, now: float) -> None:
    """Fail a batch that has been open for too long (IRCv3 client-batch)."""
    if not draft.is_given_up and 0 < ircd.limits.multiline_timeout_s <= now - draft.opened_at:
        fail_draft(
            ircd, session, draft, Failure("TIMEOUT", draft.reference, text="The batch was open for too long")
        )


def fail_draft(ircd: Ircd, session: Session, draft: MultilineDraft, failure: Failure) -> None:
    """Give up a batch and send the failure, under the label of the batch."""
    draft.give_up()
    ircd.attempt(session, take_label(ircd, session, draft), lambda: send_failure(ircd, session, failure))


def take_label(ircd: Ircd, session: Session, draft: MultilineDraft) -> str | None:
    """Return and clear the label under which the result of the batch is sent.

    If the command that ends the batch has a label of its own, the batch's label is acknowledged alone.
    """
    label, draft.label = draft.label, None
    if label is None or session.unlabeled is None:
        return label
    session.unlabeled.append(label_replies(label, (), ircd.name, ircd.new_id))
    return None


def send_failure(ircd: Ircd, session: Session, failure: Failure) -> None:
    """Send a FAIL BATCH line."""
    ircd.send(session, failure.line("BATCH", ircd.name))
