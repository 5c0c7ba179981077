"""Answers of several lines that belong together."""

from collections.abc import Iterable

from culture.ircd.batched import batched
from culture.ircd.core import Ircd
from culture.ircd.session import Session
from culture.ircd.text import LINE_BYTES, cut
from culture.protocol.capabilities import Cap
from culture.protocol.render import Rendered


def send_batch(ircd: Ircd, session: Session, kind: str, lines: Iterable[str]) -> None:
    """In a batch of this type, or line by line to a client that knows no batches."""
    now = ircd.clock()
    pieces = [Rendered(cut(line, LINE_BYTES), now).form(session.form) for line in lines]
    if Cap.BATCH in session.caps:
        pieces = [batched(pieces, ircd.new_id(), kind, ircd.name)]
    for piece in pieces:
        ircd.delivery.queue(session, piece)
