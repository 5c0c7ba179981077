"""BATCH: a message of several lines (IRCv3 draft/multiline and client-batch)."""

from functools import partial

from culture.ircd.commands.speech import client_tags, say_to
from culture.ircd.core import Ircd
from culture.ircd.draft import Draft, fail, invalid, take_label, tell
from culture.ircd.events import SpeechCommand
from culture.ircd.failures import Failure
from culture.ircd.labels import LABEL
from culture.ircd.refusal import Refusal
from culture.ircd.session import Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.multiline import BATCH_TAG, TYPE, combine


def batch(ircd: Ircd, session: Session, line: Line) -> None:
    """`+reference draft/multiline target`, and `-reference` behind the last line."""
    sign, reference = line.param(0)[:1], line.param(0)[1:]
    try:
        if not {Cap.BATCH, Cap.MULTILINE} <= session.caps:
            raise invalid("Batches need the capabilities batch and draft/multiline")
        if BATCH_TAG in line.tags or sign not in ("+", "-") or not reference:
            raise invalid("A batch is opened by +reference and closed by -reference, not inside another")
        if sign == "+":
            _open(ircd, session, reference, line)
        else:
            _close(ircd, session, reference)
    except Failure as failure:
        if session.draft is not None:
            fail(ircd, session, session.draft, failure)
        else:
            tell(ircd, session, failure)


def _open(ircd: Ircd, session: Session, reference: str, line: Line) -> None:
    before = session.draft
    session.draft = Draft(reference, line.param(2), client_tags(ircd, session, line), ircd.timer())
    if before is not None and not before.is_given_up:
        # That one is answered by the same failure, or by nothing under its own label.
        session.draft.label = take_label(ircd, session, before)
        raise invalid("Another batch is open")
    if line.param(1) != TYPE or not line.param(2):
        raise invalid(f"A batch of a client is {TYPE} and has a target")
    if Cap.LABELED_RESPONSE in session.caps:
        session.draft.label = line.tags.get(LABEL) or None


def _close(ircd: Ircd, session: Session, reference: str) -> None:
    draft = session.draft
    if draft is None or (draft.reference != reference and not draft.is_given_up):
        raise invalid("No such batch is open")
    session.draft = None
    if draft.is_given_up:
        return
    if any(fragment.text for fragment in draft.fragments):
        ircd.attempt(session, take_label(ircd, session, draft), partial(_say, ircd, session, draft))
    else:
        fail(ircd, session, draft, invalid("A message of blank lines only"))


def _say(ircd: Ircd, session: Session, draft: Draft) -> None:
    command: SpeechCommand = "NOTICE" if draft.command == "NOTICE" else "PRIVMSG"
    fragments = tuple(draft.fragments)
    try:
        say_to(ircd, session, command, draft.target, combine(fragments), draft.tags, fragments)
    except Refusal:
        # As for a NOTICE of one line.
        if command != "NOTICE":
            raise
