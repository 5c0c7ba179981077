"""Silent clients are asked whether they are there; those that are not are let go."""

from typing import TYPE_CHECKING

from culture.ircd.draft import expire
from culture.ircd.session import LINKED, REGISTERING, Session

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


def check_all(ircd: "Ircd") -> None:
    now, limits = ircd.timer(), ircd.limits
    for session in list(ircd.sessions):
        if session.draft is not None:
            expire(ircd, session, session.draft, now)
        if session.phase is LINKED:
            # Links see to that themselves.
            continue
        if session.phase is REGISTERING:
            if 0 < limits.registration_timeout_s <= now - session.connected_at:
                ircd.close(session, "Registration timeout")
        elif session.ping_sent_at is not None:
            if 0 < limits.ping_timeout_s <= now - session.ping_sent_at:
                ircd.close(session, f"Ping timeout: {int(now - session.heard_at)} seconds")
        elif 0 < limits.ping_interval_s <= now - session.heard_at:
            _ask(ircd, session, now)


def _ask(ircd: "Ircd", session: Session, now: float) -> None:
    session.ping_sent_at = now
    ircd.send(session, f"PING :{ircd.name}")
