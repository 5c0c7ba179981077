"""REGISTER and VERIFY: making an account for oneself (IRCv3 draft/account-registration)."""

from functools import partial

from culture.ircd.auth import Creation
from culture.ircd.commands.authentication import log_in
from culture.ircd.core import Ircd
from culture.ircd.offers import may_register_before_connect
from culture.ircd.session import Phase, Session
from culture.ircd.user import UNNAMED
from culture.names import fold
from culture.protocol.line import Line, format_line

_REFUSALS = {
    Creation.EXISTS: ("ACCOUNT_EXISTS", "There is an account of that name already"),
    Creation.BAD_NAME: ("BAD_ACCOUNT_NAME", "An account cannot be called that"),
    Creation.BAD_PASSWORD: ("UNACCEPTABLE_PASSWORD", "That cannot be a password"),
}


def register(ircd: Ircd, session: Session, line: Line) -> None:
    """`account email password`. The account is called as its maker is; an address is not used."""
    wanted, _, password = line.params[:3]
    nick = session.user.nick
    fail = partial(_fail, ircd, session, "REGISTER")
    if not ircd.config.accounts.registration:
        fail("TEMPORARILY_UNAVAILABLE", wanted, "Accounts are made by those who run this server")
    elif session.phase is Phase.REGISTERING and not may_register_before_connect(ircd.config):
        fail("COMPLETE_CONNECTION_REQUIRED", "Finish connecting first")
    elif session.user.account is not None:
        fail("ALREADY_AUTHENTICATED", session.user.account, "You are logged in already")
    elif nick == UNNAMED:
        fail("NEED_NICK", "*", "Choose a nick first")
    elif wanted != "*" and fold(wanted) != fold(nick):
        fail("ACCOUNT_NAME_MUST_BE_NICK", wanted, "An account is called as its maker is")
    else:
        ircd.ask(
            session,
            lambda authenticator: authenticator.create_account(nick, password),
            partial(_made, ircd, session, nick),
            unavailable=partial(fail, "TEMPORARILY_UNAVAILABLE", nick, "No account can be made right now"),
        )


def verify(ircd: Ircd, session: Session, line: Line) -> None:
    """No account waits for a code here."""
    if session.user.account is not None:
        _fail(
            ircd,
            session,
            "VERIFY",
            "ALREADY_AUTHENTICATED",
            session.user.account,
            "You are logged in already",
        )
    else:
        _fail(ircd, session, "VERIFY", "INVALID_CODE", line.param(0), "No account waits for a code")


def _made(ircd: Ircd, session: Session, account: str, creation: Creation) -> None:
    if creation is not Creation.DONE:
        code, text = _REFUSALS[creation]
        _fail(ircd, session, "REGISTER", code, account, text)
        return
    done = format_line("REGISTER", "SUCCESS", account, "The account is made", source=ircd.name, trailing=True)
    ircd.send(session, done)
    log_in(ircd, session, account)


def _fail(ircd: Ircd, session: Session, command: str, code: str, *params: str) -> None:
    """Always as FAIL: whoever sends these commands knows it from their specification."""
    *context, text = params
    shown = [word if word and " " not in word and not word.startswith(":") else "*" for word in context]
    ircd.send(session, format_line("FAIL", command, code, *shown, text, source=ircd.name, trailing=True))
