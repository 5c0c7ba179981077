"""PASS, NICK and USER: connection registration, and later changes of nick."""

import hmac
import re
from functools import partial

from culture.ircd.authority.halting import tell_halt_state
from culture.ircd.authority.kinds import update_kind
from culture.ircd.commands.server.info import send_lusers, send_motd
from culture.ircd.commands.session.authentication import abandon_exchange
from culture.ircd.commands.session.confinement import is_agent, is_another_nick, is_nick_of_present_agent
from culture.ircd.commands.session.extended_isupport import send_isupport
from culture.ircd.commands.session.reservation import if_not_reserved
from culture.ircd.delivery.metadata_push import send_own, tell_watchers
from culture.ircd.delivery.monitor_push import tell_offline, tell_online
from culture.ircd.delivery.text import cut
from culture.ircd.events import Renamed
from culture.ircd.model.modes import CHANNEL_LETTERS, PARAMETER_LETTERS, USER_LETTERS
from culture.ircd.model.user import UNNAMED, USERNAME_LENGTH
from culture.ircd.recording.record import Moment
from culture.ircd.refusal import Refusal, need_more_params
from culture.ircd.replication.hosts import all_hosts
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
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
    """Remember the connection password until registration completes."""
    session.password = line.param(0)


def nick(ircd: Ircd, session: Session, line: Line) -> None:
    """Choose the nick during registration, or change it afterwards."""
    new = line.param(0)
    if not new:
        raise Refusal(ERR_NONICKNAMEGIVEN, "No nickname given")
    if is_nick(new) and (is_another_nick(ircd, session, new) or is_nick_of_present_agent(ircd, session, new)):
        return
    _check_nick(ircd, session, new)
    if session.phase is Phase.REGISTERED:
        if new != session.user.nick:
            rename = partial(_rename, ircd, session, new)
            if_not_reserved(ircd, session, new, rename, partial(ircd.refuse, session))
        return
    session.user.identify(nick=new)
    finish_registration(ircd, session)


def _rename(ircd: Ircd, session: Session, new: str) -> None:
    # Somebody else may have taken the nick during the lookup.
    _check_nick(ircd, session, new)
    old = session.user.nick
    ircd.publish(Renamed(session.user, new))
    update_kind(ircd, session)
    if fold(old) != fold(new):
        tell_offline(ircd, old)
        tell_online(ircd, session.user)
        tell_watchers(ircd, session.user)


def user(ircd: Ircd, session: Session, line: Line) -> None:
    """Set user name and real name during registration."""
    if not line.param(3):
        raise need_more_params("USER")
    username = cut(_NOT_IN_USERNAME.sub("", line.param(0)), USERNAME_LENGTH)
    session.user.identify(username=username or "user")
    session.user.realname = cut(line.param(3), ircd.limits.realname_length)
    finish_registration(ircd, session)


def finish_registration(ircd: Ircd, session: Session) -> None:
    """Complete registration if nothing is missing. Each step that may be the last one calls it."""
    user = session.user
    if user.nick == UNNAMED or not user.username or session.is_negotiating:
        return
    abandon_exchange(ircd, session)
    if ircd.password and not hmac.compare_digest(session.password.encode(), ircd.password.encode()):
        ircd.reply(session, ERR_PASSWDMISMATCH, "Password incorrect")
        ircd.close(session, "Password incorrect")
        return
    if ircd.config.accounts.required and user.account is None and not session.is_trusted:
        text = "This server requires an account; log in by SASL"
        ircd.fail(session, "*", "ACCOUNT_REQUIRED", text, enabled_by=Cap.ACCOUNT_REGISTRATION)
        ircd.close(session, "Log in first (SASL)")
        return
    if_not_reserved(
        ircd, session, user.nick, partial(_let_in, ircd, session), partial(_take_nick, ircd, session)
    )


def _take_nick(ircd: Ircd, session: Session, refusal: Refusal) -> None:
    """Refuse the nick; the client may continue registration with another."""
    session.user.identify(nick=UNNAMED)
    ircd.refuse(session, refusal)


def _let_in(ircd: Ircd, session: Session) -> None:
    user = session.user
    _send_away_impostor(ircd, session)
    if ircd.state.find_user(user.nick) is not None:
        # Unregistered clients do not reserve a nick, or they could keep it from its owner.
        _take_nick(ircd, session, _in_use(user.nick))
        return
    session.phase = Phase.REGISTERED
    # Metadata that was set before registration is published after the user is announced.
    early, user.metadata = user.metadata, {}
    ircd.state.add_user(user)
    update_kind(ircd, session)
    ircd.record.user_arrived(Moment("", ircd.clock()), user, ircd.state.metadata.of(user))
    tell_online(ircd, user)
    tell_watchers(ircd, user)
    user.metadata = early
    _welcome(ircd, session)


def _send_away_impostor(ircd: Ircd, session: Session) -> None:
    """Disconnect a client that took the nick of an agent before it was reserved."""
    user = ircd.state.find_user(session.user.nick)
    holder = user.session if user is not None else None
    if is_agent(session) and holder is not None and not is_agent(holder):
        ircd.close(holder, "Nickname is reserved to an agent of this host")


def _check_nick(ircd: Ircd, session: Session, new: str) -> None:
    if not is_nick(new) or len(new) > ircd.limits.nick_length:
        raise Refusal(ERR_ERRONEUSNICKNAME, new, "Erroneous nickname")
    if ircd.config.nick_policy == "prefixed" and not has_prefix(new, ircd.name):
        prefix = nick_prefix(ircd.name)
        # The part before the first dash is usually the name of another host.
        name = new.partition("-")[2] or new
        raise Refusal(
            ERR_ERRONEUSNICKNAME, new, f"Nicks on this host begin with {prefix}; try {prefix}{name}"
        )
    if fold(new) in map(fold, all_hosts(ircd)):
        raise Refusal(ERR_ERRONEUSNICKNAME, new, "That is the name of a server")
    if not is_agent(session) and ircd.state.find_user(new) not in (None, session.user):
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
    tell_halt_state(ircd, session)
