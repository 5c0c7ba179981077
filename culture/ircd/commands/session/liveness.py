"""PING, PONG, QUIT and ERROR: keep a connection alive or end it."""

from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import ERR_NOORIGIN


def ping(ircd: Ircd, session: Session, line: Line) -> None:
    """Answer with PONG and the same token."""
    if not line.param(0):
        raise Refusal(ERR_NOORIGIN, "No origin specified")
    ircd.send(session, format_line("PONG", ircd.name, line.param(0), source=ircd.name, trailing=True))


def ignore(ircd: Ircd, session: Session, line: Line) -> None:
    """Do nothing: any line counts as activity, and ERROR from a client has no meaning."""


def quit_(ircd: Ircd, session: Session, line: Line) -> None:
    """Close the connection."""
    # The prefix tells others that the client left on purpose, even without a reason.
    ircd.close(session, f"Quit: {line.param(0)}")
