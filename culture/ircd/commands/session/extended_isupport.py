"""ISUPPORT: send the server's features and limits (IRCv3 draft/extended-isupport)."""

from collections.abc import Iterable, Sequence
from typing import Final

from culture.config.ircd import IrcdConfig
from culture.ircd.capabilities.isupport import isupport_changes, isupport_lines
from culture.ircd.delivery.batches import send_batch
from culture.ircd.refusal import not_registered
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import RPL_ISUPPORT

_BATCHING: Final = frozenset({Cap.BATCH, Cap.EXTENDED_ISUPPORT})


def isupport(ircd: Ircd, session: Session, line: Line) -> None:
    """Send ISUPPORT; before registration only with the capability."""
    if session.phase is Phase.REGISTERING and Cap.EXTENDED_ISUPPORT not in session.caps:
        raise not_registered()
    send_isupport(ircd, session)


def send_isupport(ircd: Ircd, session: Session) -> None:
    """Send all ISUPPORT tokens."""
    _send(ircd, session, isupport_lines(ircd.config, ircd.skills.tokens))


def announce_isupport(ircd: Ircd, before: IrcdConfig) -> None:
    """Send the ISUPPORT tokens that a reload changed to all clients."""
    changes = isupport_changes(before, ircd.config)
    for session in ircd.sessions:
        if changes and session.phase is Phase.REGISTERED:
            _send(ircd, session, changes)


def _send(ircd: Ircd, session: Session, told: Iterable[Sequence[str]]) -> None:
    lines = [
        format_line(
            RPL_ISUPPORT,
            session.user.nick,
            *tokens,
            "are supported by this server",
            source=ircd.name,
            trailing=True,
        )
        for tokens in told
    ]
    if session.caps >= _BATCHING:
        send_batch(ircd, session, "draft/isupport", lines)
        return
    for line in lines:
        ircd.send(session, line)
