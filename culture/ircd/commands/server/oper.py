"""OPER, KILL, REHASH and WALLOPS: the commands of server operators."""

import hmac

from culture.config.ircd import OperConfig
from culture.ircd.commands.channels.mode import tell_user_modes
from culture.ircd.commands.session.confinement import is_refused_to_agents
from culture.ircd.commands.session.failed_logins import check_may_try, count_failure
from culture.ircd.delivery.send_from import send_from
from culture.ircd.model.opers import find_operator, require_privilege
from culture.ircd.model.user import User, UserMode
from culture.ircd.recording.record import Moment
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick
from culture.ircd.replication.hosts import all_hosts
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import fold
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_CANTKILLSERVER,
    ERR_NOOPERHOST,
    ERR_PASSWDMISMATCH,
    RPL_REHASHING,
    RPL_YOUREOPER,
)


def oper(ircd: Ircd, session: Session, line: Line) -> None:
    """Make the client an operator of the server if account and password match the configuration."""
    answer = Refusal(ERR_NOOPERHOST, "Agents cannot be operators of the server")
    if is_refused_to_agents(ircd, session, "OPER", answer):
        return
    check_may_try(ircd, session)
    user = session.user
    config = find_operator(ircd, line.param(0))
    if len(line.params) < 2 and (config is None or config.password_credential):
        raise need_more_params("OPER")
    if config is None or (config.account and fold(config.account) != fold(user.account or "")):
        _refuse(ircd, session, config, Refusal(ERR_NOOPERHOST, "No O-lines for your host"))
        return
    expected = ircd.oper_passwords.get(config.name, "")
    if config.password_credential and not _is_same(line.param(1), expected):
        _refuse(ircd, session, config, Refusal(ERR_PASSWDMISMATCH, "Password incorrect"))
        return
    session.oper = config.name
    ircd.notes.add("operator-made", session, f"is operator '{config.name}' now", operator=config.name)
    ircd.reply(session, RPL_YOUREOPER, "You are now an IRC operator")
    if not user.is_operator:
        ircd.state.set_user_mode(user, UserMode.OPERATOR, present=True)
        ircd.send(session, format_line("MODE", user.nick, f"+{UserMode.OPERATOR}", source=ircd.name))
        tell_user_modes(ircd, user)


def kill(ircd: Ircd, session: Session, line: Line) -> None:
    """Disconnect a user, who is told by whom; others see a QUIT."""
    require_privilege(ircd, session, "kill")
    nick, comment = line.params[:2]
    if fold(nick) in map(fold, all_hosts(ircd)):
        raise Refusal(ERR_CANTKILLSERVER, "You can't kill a server!")
    victim = ircd.state.find_user(nick)
    if victim is None:
        raise no_such_nick(nick)
    if victim.session is None:
        # The host of the user disconnects them and announces it.
        moment = Moment("", ircd.clock(), named=(ircd.state.sign_on_of(victim),))
        ircd.record.add_for_links(moment, "KILL", session.user, victim.nick, comment)
    else:
        put_out(ircd, victim.session, session.user, comment, operator=session.oper)


def put_out(ircd: Ircd, victim: Session, killer: User, comment: str, operator: str | None = None) -> None:
    """Disconnect a local client. `operator` is the configured name if the killer is one of this host."""
    user, by = victim.user, f"was killed by {killer.nick}"
    ircd.notes.add("client-killed", victim, by, account=user.account, operator=operator)
    line = format_line("KILL", user.nick, comment, source=killer.mask, trailing=True)
    send_from(ircd, killer, victim, line)
    reason = f"Killed ({killer.nick} ({comment}))"
    send_from(ircd, user, victim, format_line("QUIT", reason, source=user.mask, trailing=True))
    ircd.close(victim, reason)


def rehash(ircd: Ircd, session: Session, line: Line) -> None:
    """Reload the configuration."""
    require_privilege(ircd, session, "rehash")
    ircd.notes.add("reload-asked", session, "asked for a reload", operator=session.oper)
    ircd.reply(session, RPL_REHASHING, "ircd.yaml", "Rehashing")
    ircd.on_rehash(session)


def wallops(ircd: Ircd, session: Session, line: Line) -> None:
    """Send a text to all users with mode w, on all hosts."""
    if not line.param(0):
        raise need_more_params("WALLOPS")
    require_privilege(ircd, session, "wallops")
    call_out(ircd, session.user, line.param(0))
    ircd.record.add_for_links(Moment("", ircd.clock()), "WALLOPS", session.user, text=line.param(0))


def call_out(ircd: Ircd, operator: User, text: str) -> None:
    """Send an operator's text to all local users with mode w."""
    line = format_line("WALLOPS", text, source=operator.mask, trailing=True)
    for user in ircd.state.by_mode[UserMode.WALLOPS]:
        if user.session is not None:
            send_from(ircd, operator, user.session, line)


def _refuse(ircd: Ircd, session: Session, config: OperConfig | None, refusal: Refusal) -> None:
    # An unknown name is not logged: it may be a password in the wrong place.
    name = config.name if config is not None else None
    ircd.notes.add("operator-refused", session, "did not become an operator", operator=name)
    ircd.refuse(session, refusal)
    count_failure(ircd, session)


def _is_same(given: str, expected: str) -> bool:
    """Compare passwords in constant time. An empty or unreadable expected password never matches."""
    return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())
