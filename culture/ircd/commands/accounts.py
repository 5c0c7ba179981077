"""REGISTER and VERIFY: making an account for oneself (IRCv3 draft/account-registration)."""

from functools import partial

from culture.ircd.auth import Creation
from culture.ircd.commands.authentication import log_in
from culture.ircd.core import Ircd
from culture.ircd.failures import Failure
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
    _check_open(ircd, session, nick if wanted == "*" else wanted)
    _check_name(wanted, nick)
    unavailable = Failure("TEMPORARILY_UNAVAILABLE", nick, text="No account can be made right now")
    ircd.ask(
        session,
        lambda authenticator: authenticator.create_account(nick, password),
        partial(_made, ircd, session, nick),
        unavailable=partial(_fail, ircd, session, unavailable),
    )


def verify(ircd: Ircd, session: Session, line: Line) -> None:
    """No account waits for a code here."""
    account = line.param(0)
    _check_open(ircd, session, account)
    raise Failure("INVALID_CODE", account, text="No account waits for a code")


def _check_open(ircd: Ircd, session: Session, account: str) -> None:
    if not ircd.config.accounts.registration:
        raise Failure(
            "TEMPORARILY_UNAVAILABLE", account, text="Accounts are made by those who run this server"
        )
    if session.phase is Phase.REGISTERING and not may_register_before_connect(ircd.config):
        raise Failure("COMPLETE_CONNECTION_REQUIRED", text="Finish connecting first")
    if session.user.account is not None:
        raise Failure("ALREADY_AUTHENTICATED", session.user.account, text="You are logged in already")


def _check_name(wanted: str, nick: str) -> None:
    if nick == UNNAMED:
        raise Failure("NEED_NICK", "*", text="Choose a nick first")
    if wanted != "*" and fold(wanted) != fold(nick):
        raise Failure("ACCOUNT_NAME_MUST_BE_NICK", wanted, text="An account is called as its maker is")


def _made(ircd: Ircd, session: Session, account: str, creation: Creation) -> None:
    if creation is not Creation.DONE:
        code, text = _REFUSALS[creation]
        _fail(ircd, session, Failure(code, account, text=text))
        return
    done = format_line("REGISTER", "SUCCESS", account, "The account is made", source=ircd.name, trailing=True)
    ircd.send(session, done)
    ircd.notes.add("account-made", session, f"made the account '{account}'", account=account)
    log_in(ircd, session, account, "REGISTER")


def _fail(ircd: Ircd, session: Session, failure: Failure) -> None:
    """For an answer that comes later."""
    ircd.send(session, failure.line("REGISTER", ircd.name))
