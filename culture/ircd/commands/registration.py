"""PASS, NICK, USER and the end of registration; NICK again afterwards."""

import hmac
import re
from functools import partial

from culture.ircd.commands.authentication import abandon_exchange
from culture.ircd.commands.isupport import send_isupport
from culture.ircd.commands.reservation import if_not_reserved, reserved
from culture.ircd.commands.server import send_lusers, send_motd
from culture.ircd.core import Ircd
from culture.ircd.events import Renamed
from culture.ircd.modes import CHANNEL_LETTERS, PARAMETER_LETTERS, USER_LETTERS
from culture.ircd.monitoring import tell_offline, tell_online
from culture.ircd.publishing import send_own, tell_watchers
from culture.ircd.record import Moment
from culture.ircd.refusal import Refusal, need_more_params
from culture.ircd.session import Phase, Session
from culture.ircd.text import cut
from culture.ircd.user import UNNAMED, USERNAME_LENGTH
from culture.ircd.whereabouts import all_hosts
from culture.names import fold, has_prefix, is_nick, nick_prefix
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_ERRONEUSNICKNAME,
    ERR_NICKNAMEINUSE,
    ERR_NONICKNAMEGIVEN,
    ERR_PASSWDMISMATCH,
    RPL_CREATED,
    RPL_MYINFO,
    RPL_WELCOME,
    RPL_YOURHOST,
)
from culture.protocol.render import format_time

_NOT_IN_USERNAME = re.compile(r"[\x00-\x20\x7f!@:]")


def password(ircd: Ircd, session: Session, line: Line) -> None:
    session.password = line.param(0)


def nick(ircd: Ircd, session: Session, line: Line) -> None:
    new = line.param(0)
    if not new:
        raise Refusal(ERR_NONICKNAMEGIVEN, "No nickname given")
    _check_nick(ircd, session, new)
    if session.phase is Phase.REGISTERED:
        if new != session.user.nick:
            rename = partial(_rename, ircd, session, new)
            if_not_reserved(ircd, session, new, rename, partial(ircd.refuse, session, reserved(new)))
        return
    session.user.identify(nick=new)
    finish_registration(ircd, session)


def _rename(ircd: Ircd, session: Session, new: str) -> None:
    # Somebody else may have taken it while it was asked about.
    _check_nick(ircd, session, new)
    old = session.user.nick
    ircd.publish(Renamed(session.user, new))
    if fold(old) != fold(new):
        tell_offline(ircd, old)
        tell_online(ircd, session.user)
        tell_watchers(ircd, session.user)


def user(ircd: Ircd, session: Session, line: Line) -> None:
    if not line.param(3):
        raise need_more_params("USER")
    username = cut(_NOT_IN_USERNAME.sub("", line.param(0)), USERNAME_LENGTH)
    session.user.identify(username=username or "user")
    session.user.realname = cut(line.param(3), ircd.limits.realname_length)
    finish_registration(ircd, session)


def finish_registration(ircd: Ircd, session: Session) -> None:
    """Welcome the client if nothing is missing any more; asked after each step that may be the last."""
    user = session.user
    if user.nick == UNNAMED or not user.username or session.is_negotiating:
        return
    abandon_exchange(ircd, session)
    if ircd.password and not hmac.compare_digest(session.password.encode(), ircd.password.encode()):
        ircd.reply(session, ERR_PASSWDMISMATCH, "Password incorrect")
        ircd.close(session, "Password incorrect")
        return
    if ircd.config.accounts.required and user.account is None and not session.is_trusted:
        text = "This server is for those who log in (SASL)"
        ircd.fail(session, "*", "ACCOUNT_REQUIRED", text, enabled_by=Cap.ACCOUNT_REGISTRATION)
        ircd.close(session, "Log in first (SASL)")
        return
    take_nick = partial(_take_nick, ircd, session, reserved(user.nick))
    if_not_reserved(ircd, session, user.nick, partial(_let_in, ircd, session), take_nick)


def _take_nick(ircd: Ircd, session: Session, refusal: Refusal) -> None:
    """The client may go on with another."""
    session.user.identify(nick=UNNAMED)
    ircd.refuse(session, refusal)


def _let_in(ircd: Ircd, session: Session) -> None:
    user = session.user
    if ircd.state.find_user(user.nick) is not None:
        # A nick is kept for nobody who is still registering: they could keep it from its owner.
        _take_nick(ircd, session, _in_use(user.nick))
        return
    session.phase = Phase.REGISTERED
    # What they published on the way in is news once others know that they are here.
    early, user.metadata = user.metadata, {}
    ircd.state.add_user(user)
    ircd.record.arrived(Moment("", ircd.clock()), user, ircd.state.metadata.of(user))
    tell_online(ircd, user)
    tell_watchers(ircd, user)
    user.metadata = early
    _welcome(ircd, session)


def _check_nick(ircd: Ircd, session: Session, new: str) -> None:
    if not is_nick(new) or len(new) > ircd.limits.nick_length:
        raise Refusal(ERR_ERRONEUSNICKNAME, new, "Erroneous nickname")
    if ircd.config.nick_policy == "prefixed" and not has_prefix(new, ircd.name):
        prefix = nick_prefix(ircd.name)
        # What stands before the first dash is mostly the name of another host.
        name = new.partition("-")[2] or new
        raise Refusal(
            ERR_ERRONEUSNICKNAME, new, f"Nicks on this host begin with {prefix}; try {prefix}{name}"
        )
    if fold(new) in map(fold, all_hosts(ircd)):
        raise Refusal(ERR_ERRONEUSNICKNAME, new, "That is the name of a server")
    if ircd.state.find_user(new) not in (None, session.user):
        raise _in_use(new)


def _in_use(nick: str) -> Refusal:
    return Refusal(ERR_NICKNAMEINUSE, nick, "Nickname is already in use")


def _welcome(ircd: Ircd, session: Session) -> None:
    user = session.user
    ircd.reply(session, RPL_WELCOME, f"Welcome to the Culture network, {user.mask}")
    ircd.reply(session, RPL_YOURHOST, f"Your host is {ircd.name}, running version culture-{ircd.version}")
    ircd.reply(session, RPL_CREATED, f"This server was created {format_time(ircd.started_at)}")
    modes = (USER_LETTERS, CHANNEL_LETTERS, PARAMETER_LETTERS)
    ircd.reply(session, RPL_MYINFO, ircd.name, f"culture-{ircd.version}", *modes, trailing=False)
    send_isupport(ircd, session)
    send_own(ircd, session)
    send_lusers(ircd, session)
    send_motd(ircd, session)
