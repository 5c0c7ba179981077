"""Send a reply of several lines as one batch."""

from collections.abc import Iterable

from culture.ircd.delivery.batch_lines import wrap_in_batch
from culture.ircd.delivery.text import LINE_BYTES, cut
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.capabilities import Cap
from culture.protocol.render import Rendered


def send_batch(ircd: Ircd, session: Session, kind: str, lines: Iterable[str]) -> None:
    """Send lines in a batch of this type, or one by one to a client without the batch capability."""
    now = ircd.clock()
    pieces = [Rendered(cut(line, LINE_BYTES), now).form(session.form) for line in lines]
    if Cap.BATCH in session.caps:
        pieces = [wrap_in_batch(pieces, ircd.new_id(), kind, ircd.name)]
    for piece in pieces:
        ircd.delivery.queue(session, piece)
