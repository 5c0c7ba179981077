"""Count failed logins: too many end the connection and delay further attempts (back-off)."""

import math
from collections.abc import Hashable

from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.numerics import ERR_PASSWDMISMATCH


def count_failure(ircd: Ircd, session: Session) -> None:
    """Record a failed login, and close the connection if there were too many."""
    session.failures += 1
    ircd.login_backoff.failed(session.client, ircd.timer())
    if 0 < ircd.limits.login_failures <= session.failures:
        ircd.close(session, "Too many failed logins")


def login_ready_at(ircd: Ircd, client: Hashable) -> float:
    """Return the time on the server's timer from which a client may log in again."""
    return ircd.login_backoff.ready_at(client, ircd.limits.login_backoff_s)


def check_may_try(ircd: Ircd, session: Session) -> None:
    """Refuse an attempt during back-off. SASL logins are delayed instead."""
    wait_s = login_ready_at(ircd, session.client) - ircd.timer()
    if wait_s > 0:
        text = f"Too many failed attempts from your address; try again in {math.ceil(wait_s)} s"
        raise Refusal(ERR_PASSWDMISMATCH, text)
