"""OPER, and what operators of the server may do: KILL, REHASH and WALLOPS."""

import hmac

from culture.config.ircd import OperConfig
from culture.ircd.commands.authentication import count_failure
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick
from culture.ircd.session import Session
from culture.ircd.user import UserMode
from culture.names import fold
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_CANTKILLSERVER,
    ERR_NOOPERHOST,
    ERR_NOPRIVILEGES,
    ERR_NOPRIVS,
    ERR_PASSWDMISMATCH,
    RPL_REHASHING,
    RPL_YOUREOPER,
)


def oper(ircd: Ircd, session: Session, line: Line) -> None:
    user = session.user
    config = _find(ircd, line.param(0))
    if len(line.params) < 2 and (config is None or config.password_credential):
        raise need_more_params("OPER")
    if config is None or (config.account and fold(config.account) != fold(user.account or "")):
        _refuse(ircd, session, Refusal(ERR_NOOPERHOST, "No O-lines for your host"))
        return
    expected = ircd.oper_passwords.get(config.name, "")
    if config.password_credential and not _is_same(line.param(1), expected):
        _refuse(ircd, session, Refusal(ERR_PASSWDMISMATCH, "Password incorrect"))
        return
    session.oper = config.name
    if not user.is_operator:
        ircd.state.set_user_mode(user, UserMode.OPERATOR, present=True)
        ircd.send(session, format_line("MODE", user.nick, f"+{UserMode.OPERATOR}", source=ircd.name))
    ircd.reply(session, RPL_YOUREOPER, "You are now an IRC operator")


def kill(ircd: Ircd, session: Session, line: Line) -> None:
    """The victim reads who did it; the others see it quit."""
    _require(ircd, session, "kill")
    nick, comment = line.params[:2]
    if fold(nick) == fold(ircd.name):
        raise Refusal(ERR_CANTKILLSERVER, "You can't kill a server!")
    victim = ircd.state.find_user(nick)
    if victim is None or victim.session is None:
        raise no_such_nick(nick)
    killer = session.user
    ircd.send(victim.session, format_line("KILL", victim.nick, comment, source=killer.mask, trailing=True))
    ircd.close(victim.session, f"Killed ({killer.nick} ({comment}))")


def rehash(ircd: Ircd, session: Session, line: Line) -> None:
    _require(ircd, session, "rehash")
    ircd.reply(session, RPL_REHASHING, "ircd.yaml", "Rehashing")
    ircd.on_rehash()


def wallops(ircd: Ircd, session: Session, line: Line) -> None:
    """To everyone who wants to hear from operators (user mode w)."""
    _require(ircd, session, "wallops")
    told = format_line("WALLOPS", line.param(0), source=session.user.mask, trailing=True)
    for user in ircd.state.users.values():
        if UserMode.WALLOPS in user.modes and user.session is not None:
            ircd.send(user.session, told)


def _require(ircd: Ircd, session: Session, privilege: str) -> None:
    """As the configuration is now, not as it was when the operator became one."""
    if not session.user.is_operator:
        raise Refusal(ERR_NOPRIVILEGES, "Permission Denied- You're not an IRC operator")
    config = _find(ircd, session.oper)
    if config is None or privilege not in config.privileges:
        raise Refusal(ERR_NOPRIVS, privilege, "Insufficient oper privileges.")


def _refuse(ircd: Ircd, session: Session, refusal: Refusal) -> None:
    ircd.refuse(session, refusal)
    count_failure(ircd, session)


def _find(ircd: Ircd, name: str) -> OperConfig | None:
    return next((config for config in ircd.config.opers if config.name == name), None)


def _is_same(given: str, expected: str) -> bool:
    """An operator whose password is empty, or could not be read, is nobody."""
    return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())
