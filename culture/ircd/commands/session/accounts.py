"""REGISTER and VERIFY: create an account (IRCv3 draft/account-registration)."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from culture.ircd.auth.questions import Answer, Authenticator, Creation
from culture.ircd.capabilities.offered import may_register_before_connect
from culture.ircd.commands.session.authentication import log_in
from culture.ircd.commands.session.confinement import is_refused_to_agents, note_impersonation
from culture.ircd.commands.session.reservation import account_names_of, is_name_of_agent_or_operator
from culture.ircd.failures import Failure
from culture.ircd.model.user import UNNAMED
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.names import fold
from culture.protocol.line import Line, format_line

# RFC 5321 section 4.5.3.1.3.
EMAIL_LENGTH: Final = 254
_EMAIL = re.compile(r"[^@\s\x00-\x20\x7f]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_REFUSALS = {
    Creation.EXISTS: ("ACCOUNT_EXISTS", "There is already an account of that name"),
    Creation.BAD_NAME: ("BAD_ACCOUNT_NAME", "Not a valid account name"),
    Creation.BAD_PASSWORD: ("UNACCEPTABLE_PASSWORD", "Not an acceptable password"),
}


def register(ircd: Ircd, session: Session, line: Line) -> None:
    """Create an account, given `account email password`. Its name is the nick of the client."""
    wanted, email, password = line.params[:3]
    nick = session.user.nick
    own = session.user.account or "*"
    answer = Failure("ALREADY_AUTHENTICATED", own, text="Agents are always logged in to their own account")
    if is_refused_to_agents(ircd, session, "REGISTER", answer):
        return
    _check_open(ircd, session, nick if wanted == "*" else wanted)
    wrong = _wrong_name(wanted, nick)
    if wrong is not None and wanted != "*":
        # An existing account is the more useful error, so look that up first.
        refuse = partial(_refuse_name, ircd, session, wanted, wrong)
        _ask(ircd, session, wanted, lambda authenticator: authenticator.find_account(wanted), refuse)
        return
    if wrong is not None:
        raise wrong
    if is_name_of_agent_or_operator(ircd, nick):
        note_impersonation(ircd, session, f"may not make the account '{nick}'", nick)
        raise Failure("BAD_ACCOUNT_NAME", nick, text="That is the name of an agent or an operator")
    if ircd.config.accounts.email_required and not _is_email(email):
        raise Failure("INVALID_EMAIL", nick, text="An e-mail address is required, such as name@example.org")
    _ask(
        ircd,
        session,
        nick,
        partial(_create, account_names_of(ircd, nick), password),
        partial(_made, ircd, session, nick, email if ircd.config.accounts.email_required else ""),
    )


def _ask(
    ircd: Ircd,
    session: Session,
    account: str,
    ask: Callable[[Authenticator], Answer],
    then: Callable[[Answer], None],
) -> None:
    unavailable = Failure("TEMPORARILY_UNAVAILABLE", account, text="Accounts cannot be created right now")
    ircd.ask(session, ask, then, unavailable=partial(_fail, ircd, session, unavailable))


def verify(ircd: Ircd, session: Session, line: Line) -> None:
    """Refuse every code, because no account waits for verification."""
    account = line.param(0)
    _check_open(ircd, session, account)
    raise Failure("INVALID_CODE", account, text="No account needs verification")


def _check_open(ircd: Ircd, session: Session, account: str) -> None:
    if not ircd.config.accounts.registration:
        raise Failure(
            "TEMPORARILY_UNAVAILABLE", account, text="Only the operators of this server create accounts"
        )
    if session.phase is Phase.REGISTERING and not may_register_before_connect(ircd.config):
        raise Failure("COMPLETE_CONNECTION_REQUIRED", text="Finish connecting first")
    if session.user.account is not None:
        raise Failure("ALREADY_AUTHENTICATED", session.user.account, text="You are already logged in")


def _wrong_name(wanted: str, nick: str) -> Failure | None:
    if nick == UNNAMED:
        return Failure("NEED_NICK", "*", text="Choose a nick first")
    if wanted != "*" and fold(wanted) != fold(nick):
        return Failure("ACCOUNT_NAME_MUST_BE_NICK", wanted, text="The account name must be your nick")
    return None


def _refuse_name(ircd: Ircd, session: Session, wanted: str, wrong: Failure, known: str | None) -> None:
    code, text = _REFUSALS[Creation.EXISTS]
    _fail(ircd, session, wrong if known is None else Failure(code, wanted, text=text))


def _is_email(address: str) -> bool:
    """Return whether this may be an e-mail address. The local part may be nearly anything."""
    return len(address) <= EMAIL_LENGTH and _EMAIL.fullmatch(address) is not None


def _create(names: Sequence[str], password: str, authenticator: Authenticator) -> Creation:
    """Create the first of the names unless an account with another of them already owns the nick."""
    nick, *others = names
    if any(authenticator.find_account(other) is not None for other in others):
        return Creation.EXISTS
    return authenticator.create_account(nick, password)


def _made(ircd: Ircd, session: Session, account: str, email: str, creation: Creation) -> None:
    if creation is not Creation.DONE:
        code, text = _REFUSALS[creation]
        _fail(ircd, session, Failure(code, account, text=text))
        return
    done = format_line("REGISTER", "SUCCESS", account, "Account created", source=ircd.name, trailing=True)
    ircd.send(session, done)
    address = f" with the address {email}" if email else ""
    ircd.notes.add("account-made", session, f"created the account '{account}'{address}", account=account)
    log_in(ircd, session, account, "REGISTER")


def _fail(ircd: Ircd, session: Session, failure: Failure) -> None:
    """Send a FAIL reply after the command has returned."""
    ircd.send(session, failure.line("REGISTER", ircd.name))
