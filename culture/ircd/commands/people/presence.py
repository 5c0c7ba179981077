"""AWAY, SETNAME, ISON and USERHOST."""

from culture.ircd.delivery.text import cut, pack
from culture.ircd.events import AwayChanged, RealnameChanged
from culture.ircd.model.user import User
from culture.ircd.refusal import not_registered
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.numerics import (
    RPL_ISON,
    RPL_NOWAWAY,
    RPL_UNAWAY,
    RPL_USERHOST,
)

_USERHOST_NICKS = 5


def away(ircd: Ircd, session: Session, line: Line) -> None:
    """Mark the user as away, or as back if there is no text."""
    user = session.user
    text = cut(line.param(0), ircd.limits.away_length) or None
    if session.phase is Phase.REGISTERING:
        # IRCv3 pre-away: no channel member has to be notified yet.
        if Cap.PRE_AWAY not in session.caps:
            raise not_registered()
        user.away = text
    elif text != user.away:
        ircd.publish(AwayChanged(user, text))
    if text is None:
        ircd.reply(session, RPL_UNAWAY, "You are no longer marked as being away")
    else:
        ircd.reply(session, RPL_NOWAWAY, "You have been marked as being away")


def setname(ircd: Ircd, session: Session, line: Line) -> None:
    """Change the real name of the user."""
    # People type it without the colon.
    realname = " ".join(line.params)
    if not realname.strip() or len(realname.encode()) > ircd.limits.realname_length:
        text = f"Realname is not valid: it has 1 to {ircd.limits.realname_length} bytes"
        ircd.fail(session, "SETNAME", "INVALID_REALNAME", text, enabled_by=Cap.SETNAME)
        return
    ircd.publish(RealnameChanged(session.user, realname))


def ison(ircd: Ircd, session: Session, line: Line) -> None:
    """Reply which of the nicks are online."""
    # RFC 2812 section 4.9: nicks are parameters, and clients also send them in one.
    wanted = " ".join(line.params).split()
    here = (user.nick for nick in wanted if (user := ircd.state.find_user(nick)))
    fitting = next(pack(here, ircd.room_for(session, RPL_ISON)), "")
    ircd.reply(session, RPL_ISON, fitting)


def userhost(ircd: Ircd, session: Session, line: Line) -> None:
    """Reply with user name, host, away and operator status of up to five nicks."""
    # Some clients send all nicks in one parameter, as with ISON.
    wanted = " ".join(line.params).split()[:_USERHOST_NICKS]
    found = [user for nick in wanted if (user := ircd.state.find_user(nick))]
    for some in list(pack(map(_userhost, found), ircd.room_for(session, RPL_USERHOST))) or [""]:
        ircd.reply(session, RPL_USERHOST, some)


def _userhost(user: User) -> str:
    operator = "*" if user.is_operator else ""
    presence = "-" if user.away else "+"
    return f"{user.nick}{operator}={presence}{user.username}@{user.host}"
