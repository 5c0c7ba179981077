"""Send PING to idle clients and close those that time out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from culture.ircd.delivery.multiline_draft import expire_draft
from culture.ircd.session import LINKED, PROVING, REGISTERING, Session

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def check_all(ircd: "Ircd", give_up: Callable[[Session], None] | None) -> None:
    """Check every session. If one check raises, call `give_up` with its session and check the others."""
    for session in list(ircd.sessions):
        try:
            _check(ircd, session)
        except Exception:
            if give_up is None:
                raise
            give_up(session)


def _check(ircd: "Ircd", session: Session) -> None:
    """Check the registration and ping timeouts of one client."""
    now, limits = ircd.timer(), ircd.limits
    if session.draft is not None:
        expire_draft(ircd, session, session.draft, now)
    if session.phase in (LINKED, PROVING):
        # Links have timeouts of their own.
        return
    if session.phase is REGISTERING:
        if 0 < limits.registration_timeout_s <= now - session.connected_at:
            ircd.close(session, "Registration timeout")
    elif session.ping_sent_at is not None:
        if 0 < limits.ping_timeout_s <= now - session.ping_sent_at:
            ircd.close(session, f"Ping timeout: {int(now - session.heard_at)} seconds")
    elif 0 < limits.ping_interval_s <= now - session.heard_at:
        _send_ping(ircd, session, now)


def _send_ping(ircd: "Ircd", session: Session, now: float) -> None:
    session.ping_sent_at = now
    ircd.send(session, f"PING :{ircd.name}")
