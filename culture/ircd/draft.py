"""A message of several lines while its client is still sending it (IRCv3 draft/multiline)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from culture.ircd.failures import Failure
from culture.ircd.labels import labeled
from culture.ircd.text import size
from culture.names import fold
from culture.protocol.multiline import BATCH_TAG, CONCAT_TAG, Fragment

if TYPE_CHECKING:
    from culture.config.ircd import Limits
    from culture.ircd.core import Ircd
    from culture.ircd.session import Session
    from culture.protocol.line import Line

_SPEECH: Final = frozenset({"PRIVMSG", "NOTICE"})
_BESIDES: Final = frozenset({"BATCH", "PING", "PONG", "QUIT"})
"""What a client may send all the same: these keep the connection alive, or end it or the batch."""


def invalid(text: str) -> Failure:
    return Failure("MULTILINE_INVALID", text=text)


@dataclass(slots=True, eq=False)
class Draft:
    """What was sent of a batch. One with a flaw stays until its end, so that the rest of it is ignored."""

    reference: str
    target: str
    tags: Mapping[str, str]
    opened_at: float
    label: str | None = None
    """Of the command that opened it: the whole batch is one command."""
    command: str = ""
    fragments: list[Fragment] = field(default_factory=list)
    size_bytes: int = 0
    is_given_up: bool = False

    def add(self, line: Line, limits: Limits) -> None:
        text, is_joined = line.param(1), CONCAT_TAG in line.tags and bool(self.fragments)
        if line.command not in _SPEECH or line.command != (self.command or line.command):
            raise invalid("A multiline batch has lines of PRIVMSG, or lines of NOTICE")
        if fold(line.param(0)) != fold(self.target):
            raise Failure(
                "MULTILINE_INVALID_TARGET", self.target, line.param(0), text="Invalid multiline target"
            )
        if CONCAT_TAG in line.tags and not text:
            raise invalid("A blank line cannot be joined to the one before")
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
        self.is_given_up = True
        self.fragments.clear()


def take(ircd: Ircd, session: Session, draft: Draft, line: Line) -> bool:
    """Whether a line was one of the batch that the client has opened; it does nothing by itself then."""
    reference = line.tags.get(BATCH_TAG)
    if reference is None or line.command == "BATCH":
        if line.command not in _BESIDES and not draft.is_given_up:
            fail(ircd, session, draft, invalid(f"{line.command} came before the end of the batch"))
        return False
    if draft.is_given_up:
        return True
    try:
        if reference != draft.reference:
            raise invalid("Another batch is open")
        draft.add(line, ircd.limits)
    except Failure as failure:
        fail(ircd, session, draft, failure)
    return True


def expire(ircd: Ircd, session: Session, draft: Draft, now: float) -> None:
    """What is left open for too long is given up (IRCv3 client-batch)."""
    if not draft.is_given_up and 0 < ircd.limits.multiline_timeout_s <= now - draft.opened_at:
        fail(
            ircd, session, draft, Failure("TIMEOUT", draft.reference, text="The batch was open for too long")
        )


def fail(ircd: Ircd, session: Session, draft: Draft, failure: Failure) -> None:
    draft.give_up()
    ircd.attempt(session, take_label(ircd, session, draft), lambda: tell(ircd, session, failure))


def take_label(ircd: Ircd, session: Session, draft: Draft) -> str | None:
    """The one under which the batch is answered: its own, unless the command that ends it has one."""
    label, draft.label = draft.label, None
    if label is None or session.unlabeled is None:
        return label
    session.unlabeled.append(labeled(label, (), ircd.name, ircd.new_id))
    return None


def tell(ircd: Ircd, session: Session, failure: Failure) -> None:
    ircd.send(session, failure.line("BATCH", ircd.name))
