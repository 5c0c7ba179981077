"""PING, PONG, QUIT and ERROR: whether the other end is there."""

from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal
from culture.ircd.session import Session
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import ERR_NOORIGIN


def ping(ircd: Ircd, session: Session, line: Line) -> None:
    if not line.param(0):
        raise Refusal(ERR_NOORIGIN, "No origin specified")
    ircd.send(session, format_line("PONG", ircd.name, line.param(0), source=ircd.name, trailing=True))


def ignore(ircd: Ircd, session: Session, line: Line) -> None:
    """PONG has done its work by arriving; ERROR from a client means nothing."""


def quit_(ircd: Ircd, session: Session, line: Line) -> None:
    # Also where no reason is given: others see that it was no accident.
    ircd.close(session, f"Quit: {line.param(0)}")
