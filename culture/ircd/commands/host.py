"""CHGHOST: another user name and host for somebody (IRCv3 chghost)."""

import re

from culture.ircd.announce import join_for
from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.events import HostChanged
from culture.ircd.failures import Failure
from culture.ircd.privileges import require_privilege
from culture.ircd.refusal import no_such_nick
from culture.ircd.session import Session
from culture.ircd.telling import send_from
from culture.ircd.user import HOST_LENGTH, USERNAME_LENGTH, User
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

_USERNAME = re.compile(r"[A-Za-z0-9_.~-]+")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:-]*")
_REASON = "Changing host"


def chghost(ircd: Ircd, session: Session, line: Line) -> None:
    """`nick user host`."""
    require_privilege(ircd, session, "chghost")
    nick, username, host = line.params[:3]
    user = ircd.state.find_user(nick)
    if user is None:
        raise no_such_nick(nick)
    if user.server:
        text = f"{user.nick} is on {user.server}: an operator there can do it"
        raise Failure("CANNOT_CHANGE_HOST", user.nick, text=text)
    _check(username, host)
    _note(ircd, session, user, f"{username}@{host}")
    change_host(ircd, user, username, host)


def _check(username: str, host: str) -> None:
    if not _USERNAME.fullmatch(username) or len(username) > USERNAME_LENGTH:
        raise Failure("INVALID_USERNAME", username, text=f"A user name has 1 to {USERNAME_LENGTH} letters")
    if not _HOST.fullmatch(host) or len(host) > HOST_LENGTH:
        text = f"A host name has 1 to {HOST_LENGTH} letters, digits and . / : -"
        raise Failure("INVALID_HOSTNAME", host, text=text)


def _note(ircd: Ircd, session: Session, user: User, host: str) -> None:
    if user.session is not None:
        what = f"is {host} now, by {session.user.nick}"
        ircd.notes.add("host-changed", user.session, what, account=user.account, operator=session.oper)


def change_host(ircd: Ircd, user: User, username: str, host: str) -> None:
    """Whoever does not know the message sees the user leave and come back."""
    if (username, host) == (user.username, user.host):
        return
    old_mask = user.mask
    ircd.publish(HostChanged(user, username, host))
    show_host(ircd, user, old_mask)


def show_host(ircd: Ircd, user: User, old_mask: str) -> None:
    for neighbour in ircd.state.neighbours(user) - {user}:
        session = neighbour.session
        if session is not None and Cap.CHGHOST not in session.caps:
            _show_return(ircd, session, user, old_mask)


def _show_return(ircd: Ircd, session: Session, user: User, old_mask: str) -> None:
    send_from(ircd, user, session, format_line("QUIT", _REASON, source=old_mask, trailing=True))
    for channel in user.channels.values():
        if session.user in channel.members:
            _show_join(ircd, session, user, channel)
    if user.away and Cap.AWAY_NOTIFY in session.caps:
        send_from(ircd, user, session, format_line("AWAY", user.away, source=user.mask, trailing=True))


def _show_join(ircd: Ircd, session: Session, user: User, channel: Channel) -> None:
    send_from(ircd, user, session, join_for(session, user, channel))
    held = sorted(channel.members[user])
    if held:
        nicks = [user.nick] * len(held)
        ircd.send(session, format_line("MODE", channel.name, "+" + "".join(held), *nicks, source=ircd.name))
