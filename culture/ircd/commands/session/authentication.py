"""AUTHENTICATE: log in to an account by SASL (IRCv3 sasl-3.1 and 3.2)."""

from collections.abc import Callable
from functools import partial

from culture.ircd.auth.proof import PROOFS
from culture.ircd.authority.kinds import update_kind
from culture.ircd.capabilities.offered import mechanisms
from culture.ircd.commands.messages.markread import carry_markers
from culture.ircd.commands.session.confinement import is_agent, may_log_in
from culture.ircd.commands.session.failed_logins import count_failure
from culture.ircd.delivery.metadata_push import tell_login
from culture.ircd.events import AccountChanged
from culture.ircd.refusal import Refusal, sasl_too_long
from culture.ircd.sasl.exchange import EMPTY, MECHANISMS, ChunkTooLong, Exchange, chunks
from culture.ircd.sasl.step import Ask, Challenge, LoggedIn, SaslFailure, Step
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.names import is_nick
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_SASLABORTED,
    ERR_SASLFAIL,
    RPL_LOGGEDIN,
    RPL_SASLMECHS,
    RPL_SASLSUCCESS,
)

ABORT = "*"


def authenticate(ircd: Ircd, session: Session, line: Line) -> None:
    """Begin, continue or abort a SASL exchange."""
    said = line.param(0)
    if Cap.SASL not in session.caps:
        session.exchange = None
        raise Refusal(ERR_SASLFAIL, "SASL authentication failed: request the sasl capability first")
    if said == ABORT:
        session.exchange = None
        raise _aborted()
    if session.exchange is None:
        _begin(ircd, session, said.upper())
        return
    try:
        response = session.exchange.feed(said)
    except ChunkTooLong:
        session.exchange = None
        raise sasl_too_long() from None
    except SaslFailure:
        _failed(ircd, session, session.exchange)
        return
    if response is not None:
        _take(ircd, session, session.exchange, partial(session.exchange.mechanism.respond, response))


def log_in(ircd: Ircd, session: Session, account: str, mechanism: str) -> None:
    """Log the session in to the account, and notify channels and metadata subscribers."""
    user = session.user
    ircd.notes.add(
        "login-succeeded", session, f"is logged in as '{account}'", account=account, mechanism=mechanism
    )
    mask = f"{user.nick}!{user.username or '*'}@{user.host}"
    ircd.reply(session, RPL_LOGGEDIN, mask, account, f"You are now logged in as {account}")
    if session.phase is Phase.REGISTERED and user.account != account:
        published, read = dict(ircd.state.metadata.of(user)), dict(ircd.state.markers.of(user))
        ircd.publish(AccountChanged(user, account))
        tell_login(ircd, user, published)
        carry_markers(ircd, session, read)
    user.account = account
    if not is_agent(session):
        session.proof = PROOFS[mechanism]
    if session.phase is Phase.REGISTERED:
        update_kind(ircd, session)


def abandon_exchange(ircd: Ircd, session: Session) -> None:
    """Abort an unfinished exchange: registration does not wait for it (sasl-3.1)."""
    if session.exchange is not None:
        session.exchange = None
        ircd.refuse(session, _aborted())


def _begin(ircd: Ircd, session: Session, name: str) -> None:
    available = mechanisms(ircd.config)
    if name not in available:
        ircd.reply(session, RPL_SASLMECHS, ",".join(available), "are available SASL mechanisms")
        raise Refusal(ERR_SASLFAIL, "SASL authentication failed: unknown mechanism")
    _, make = MECHANISMS[name]
    session.exchange = Exchange(name, make(session.fingerprint))
    # In all mechanisms the client sends the first response.
    _send(ircd, session, EMPTY)


def _take(ircd: Ircd, session: Session, exchange: Exchange, decide: Callable[[], Step]) -> None:
    """Run the next step of the mechanism and carry out its result."""
    try:
        step = decide()
    except SaslFailure:
        _failed(ircd, session, exchange)
        return
    match step:
        case Challenge(data):
            for chunk in chunks(data):
                _send(ircd, session, chunk)
        case LoggedIn(account) if not may_log_in(ircd, session, account):
            _failed(ircd, session, exchange)
        case LoggedIn(account):
            session.exchange = None
            log_in(ircd, session, account, exchange.name)
            ircd.reply(session, RPL_SASLSUCCESS, "SASL authentication successful")
        case Ask() if _is_somebody_else(ircd, session, exchange):
            # Refuse before asking the authenticator: an agent may not guess the passwords of others.
            _failed(ircd, session, exchange)
        case Ask(ask, then):
            ircd.ask(
                session,
                ask,
                lambda answer: _take(ircd, session, exchange, partial(then, answer)),
                unavailable=partial(_failed, ircd, session, exchange),
            )


def _failed(ircd: Ircd, session: Session, exchange: Exchange) -> None:
    claimed = exchange.mechanism.claimed
    account = claimed if is_nick(claimed) else None
    ircd.notes.add("login-failed", session, "did not log in", account=account, mechanism=exchange.name)
    session.exchange = None
    ircd.reply(session, ERR_SASLFAIL, "SASL authentication failed")
    count_failure(ircd, session)


def _is_somebody_else(ircd: Ircd, session: Session, exchange: Exchange) -> bool:
    claimed = exchange.mechanism.claimed
    return is_agent(session) and is_nick(claimed) and not may_log_in(ircd, session, claimed)


def _aborted() -> Refusal:
    return Refusal(ERR_SASLABORTED, "SASL authentication aborted")


def _send(ircd: Ircd, session: Session, chunk: str) -> None:
    ircd.send(session, format_line("AUTHENTICATE", chunk))
