"""CHGHOST: change the user name and host of a user (IRCv3 chghost)."""

import re

from culture.ircd.delivery.change_lines import join_for
from culture.ircd.delivery.send_from import send_from
from culture.ircd.events import HostChanged
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel
from culture.ircd.model.opers import require_privilege
from culture.ircd.model.user import HOST_LENGTH, USERNAME_LENGTH, User
from culture.ircd.refusal import no_such_nick
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

_USERNAME = re.compile(r"[A-Za-z0-9_.~-]+")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:-]*")
_REASON = "Changing host"


def chghost(ircd: Ircd, session: Session, line: Line) -> None:
    """Change the user name and host of a local user, given `nick user host`."""
    require_privilege(ircd, session, "chghost")
    nick, username, host = line.params[:3]
    user = ircd.state.find_user(nick)
    if user is None:
        raise no_such_nick(nick)
    if user.server:
        text = f"{user.nick} is on {user.server}; only an operator there can change it"
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
        what = f"is now {host}, changed by {session.user.nick}"
        ircd.notes.add("host-changed", user.session, what, account=user.account, operator=session.oper)


def change_host(ircd: Ircd, user: User, username: str, host: str) -> None:
    """Publish the new user name and host, and show them to clients without the capability."""
    if (username, host) == (user.username, user.host):
        return
    old_mask = user.mask
    ircd.publish(HostChanged(user, username, host))
    show_host(ircd, user, old_mask)


def show_host(ircd: Ircd, user: User, old_mask: str) -> None:
    """Send QUIT and JOIN to neighbours without chghost."""
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
