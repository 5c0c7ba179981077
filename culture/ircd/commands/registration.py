"""PASS, NICK, USER and the end of registration; NICK again afterwards."""

import hmac
import re

from culture.ircd.commands.information import send_lusers, send_motd
from culture.ircd.core import Ircd
from culture.ircd.events import Renamed
from culture.ircd.isupport import isupport_lines
from culture.ircd.modes import CHANNEL_LETTERS, PARAMETER_LETTERS, USER_LETTERS
from culture.ircd.refusal import Refusal
from culture.ircd.session import Phase, Session
from culture.ircd.user import UNNAMED
from culture.names import fold, has_prefix, is_nick, nick_prefix
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_ERRONEUSNICKNAME,
    ERR_NICKNAMEINUSE,
    ERR_NONICKNAMEGIVEN,
    ERR_PASSWDMISMATCH,
    RPL_CREATED,
    RPL_ISUPPORT,
    RPL_MYINFO,
    RPL_WELCOME,
    RPL_YOURHOST,
)
from culture.protocol.render import format_time

_NOT_IN_USERNAME = re.compile(r"[\x00-\x20\x7f!@:]")
USERNAME_LENGTH = 16


def password(ircd: Ircd, session: Session, line: Line) -> None:
    session.password = line.param(0)


def nick(ircd: Ircd, session: Session, line: Line) -> None:
    new = line.param(0)
    if not new:
        raise Refusal(ERR_NONICKNAMEGIVEN, "No nickname given")
    _check_nick(ircd, session, new)
    if session.phase is Phase.REGISTERED:
        if new != session.user.nick:
            ircd.publish(Renamed(session.user, new))
        return
    ircd.release_nick(session)
    session.user.nick = new
    ircd.reserved[fold(new)] = session
    finish_registration(ircd, session)


def user(ircd: Ircd, session: Session, line: Line) -> None:
    username = _NOT_IN_USERNAME.sub("", line.param(0))[:USERNAME_LENGTH]
    session.user.username = username or "user"
    session.user.realname = line.param(3)
    finish_registration(ircd, session)


def finish_registration(ircd: Ircd, session: Session) -> None:
    """Welcome the client if nothing is missing any more; asked after each step that may be the last."""
    user = session.user
    if user.nick == UNNAMED or not user.username or session.is_negotiating:
        return
    if ircd.password and not hmac.compare_digest(session.password.encode(), ircd.password.encode()):
        ircd.reply(session, ERR_PASSWDMISMATCH, "Password incorrect")
        ircd.close(session, "Password incorrect")
        return
    ircd.release_nick(session)
    session.phase = Phase.REGISTERED
    ircd.state.add_user(user)
    _welcome(ircd, session)


def _check_nick(ircd: Ircd, session: Session, new: str) -> None:
    if not is_nick(new) or len(new) > ircd.limits.nick_length:
        raise Refusal(ERR_ERRONEUSNICKNAME, new, "Erroneous nickname")
    if ircd.config.nick_policy == "prefixed" and not has_prefix(new, ircd.name):
        prefix = nick_prefix(ircd.name)
        raise Refusal(ERR_ERRONEUSNICKNAME, new, f"Nicks on this host begin with {prefix}; try {prefix}{new}")
    holder = ircd.state.find_user(new)
    reserver = ircd.reserved.get(fold(new), session)
    if holder not in (None, session.user) or reserver is not session:
        raise Refusal(ERR_NICKNAMEINUSE, new, "Nickname is already in use")


def _welcome(ircd: Ircd, session: Session) -> None:
    user = session.user
    ircd.reply(session, RPL_WELCOME, f"Welcome to the Culture network, {user.mask}")
    ircd.reply(session, RPL_YOURHOST, f"Your host is {ircd.name}, running culture-{ircd.version}")
    ircd.reply(session, RPL_CREATED, f"This server was started {format_time(ircd.started_at)}")
    modes = (USER_LETTERS, CHANNEL_LETTERS, PARAMETER_LETTERS)
    ircd.reply(session, RPL_MYINFO, ircd.name, f"culture-{ircd.version}", *modes, trailing=False)
    for tokens in isupport_lines(ircd.config):
        ircd.reply(session, RPL_ISUPPORT, *tokens, "are supported by this server")
    send_lusers(ircd, session)
    send_motd(ircd, session)
