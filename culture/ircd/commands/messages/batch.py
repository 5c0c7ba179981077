"""BATCH: receive a message of several lines (IRCv3 draft/multiline and client-batch)."""

from functools import partial

from culture.ircd.commands.messages.privmsg import client_tags, say_to
from culture.ircd.delivery.labels import LABEL
from culture.ircd.delivery.multiline_draft import (
    MultilineDraft,
    fail_draft,
    invalid_batch,
    send_failure,
    take_label,
)
from culture.ircd.events import SpeechCommand
from culture.ircd.failures import Failure
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.multiline import BATCH_TAG, TYPE, combine


def batch(ircd: Ircd, session: Session, line: Line) -> None:
    """Open a batch (`+reference draft/multiline target`) or close it (`-reference`)."""
    sign, reference = line.param(0)[:1], line.param(0)[1:]
    try:
        if not {Cap.BATCH, Cap.MULTILINE} <= session.caps:
            raise invalid_batch("Batches need the capabilities batch and draft/multiline")
        if BATCH_TAG in line.tags or sign not in ("+", "-") or not reference:
            raise invalid_batch(
                "A batch is opened by +reference and closed by -reference, not inside another"
            )
        if sign == "+":
            _open(ircd, session, reference, line)
        else:
            _close(ircd, session, reference)
    except Failure as failure:
        if session.draft is not None:
            fail_draft(ircd, session, session.draft, failure)
        else:
            send_failure(ircd, session, failure)


def _open(ircd: Ircd, session: Session, reference: str, line: Line) -> None:
    before = session.draft
    session.draft = MultilineDraft(reference, line.param(2), client_tags(ircd, session, line), ircd.timer())
    if before is not None and not before.is_given_up:
        # One failure answers both batches, so the new one takes the label of the earlier one.
        session.draft.label = take_label(ircd, session, before)
        raise invalid_batch("Another batch is open")
    if line.param(1) != TYPE or not line.param(2):
        raise invalid_batch(f"A batch of a client is {TYPE} and has a target")
    if Cap.LABELED_RESPONSE in session.caps:
        session.draft.label = line.tags.get(LABEL) or None


def _close(ircd: Ircd, session: Session, reference: str) -> None:
    draft = session.draft
    if draft is None or (draft.reference != reference and not draft.is_given_up):
        raise invalid_batch("No such batch is open")
    session.draft = None
    if draft.is_given_up:
        return
    if any(fragment.text for fragment in draft.fragments):
        ircd.attempt(session, take_label(ircd, session, draft), partial(_say, ircd, session, draft))
    else:
        fail_draft(ircd, session, draft, invalid_batch("A message of blank lines only"))


def _say(ircd: Ircd, session: Session, draft: MultilineDraft) -> None:
    command: SpeechCommand = "NOTICE" if draft.command == "NOTICE" else "PRIVMSG"
    fragments = tuple(draft.fragments)
    try:
        say_to(ircd, session, command, draft.target, combine(fragments), draft.tags, fragments)
    except Refusal:
        # A NOTICE is never answered (RFC 2812 section 3.3.2).
        if command != "NOTICE":
            raise
