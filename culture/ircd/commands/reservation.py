"""Nicks that belong to accounts: only who logged in to an account may be called as it is."""

from collections.abc import Callable

from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal
from culture.ircd.session import Session
from culture.names import fold
from culture.protocol.numerics import ERR_NICKNAMEINUSE


def if_not_reserved(
    ircd: Ircd, session: Session, nick: str, then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """At once where nicks belong to nobody or to this client, else when the answer is there."""
    account = session.user.account
    if not ircd.config.accounts.reserve_nicks or (account is not None and fold(account) == fold(nick)):
        then()
        return

    def decide(owner: str | None) -> None:
        if owner is None:
            then()
        else:
            otherwise()

    # Where nobody can be asked, a nick may be somebody's.
    ircd.ask(session, lambda authenticator: authenticator.find_account(nick), decide, unavailable=otherwise)


def reserved(nick: str) -> Refusal:
    return Refusal(ERR_NICKNAMEINUSE, nick, "Nickname is reserved to an account; log in first (SASL)")
