"""Reserve the nicks of this host's agents, of its operators, and of existing accounts.

On a host whose nicks begin with `spark-`, the account `ori` has the nicks `ori` and `spark-ori`.
"""

import contextlib
from collections.abc import Callable

from culture.errors import CultureError
from culture.ircd.auth.questions import Authenticator
from culture.ircd.commands.session.confinement import agent_nick_refusal, note_impersonation
from culture.ircd.commands.session.failed_logins import count_failure
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import fold, has_prefix, nick_prefix
from culture.protocol.numerics import ERR_NICKNAMEINUSE


def if_not_reserved(
    ircd: Ircd, session: Session, nick: str, then: Callable[[], None], otherwise: Callable[[Refusal], None]
) -> None:
    """Call `then` if the session may use the nick, else `otherwise` with the refusal.

    The call is immediate if no account lookup is needed, and follows the lookup otherwise.
    """
    refusal = agent_nick_refusal(ircd, session, nick) or _operator_nick_refusal(ircd, session, nick)
    if refusal is not None:
        otherwise(refusal)
        count_failure(ircd, session)
        return
    if not ircd.config.accounts.reserve_nicks or _is_own(ircd, session, nick):
        then()
        return

    def decide(owner: str | None) -> None:
        if owner is None:
            then()
        else:
            otherwise(_reserved(nick))

    if ircd.account_names is not None:
        # While another process writes to the file the lookup fails; the authenticator's thread can wait.
        with contextlib.suppress(CultureError):
            owner = _find_owner(ircd, nick, ircd.account_names.find)
            decide(owner)
            return

    def ask(authenticator: Authenticator) -> str | None:
        return _find_owner(ircd, nick, authenticator.find_account)

    # If no authenticator answers, the nick may belong to somebody.
    ircd.ask(session, ask, decide, unavailable=lambda: otherwise(_reserved(nick)))


def is_name_of_agent_or_operator(ircd: Ircd, name: str) -> bool:
    """Return whether the name belongs to an agent or operator, so that nobody may register it."""
    if ircd.agents.find(name) is not None:
        return True
    taken = {fold(each) for oper in ircd.config.opers for each in (oper.name, oper.account) if each}
    return any(fold(each) in taken for each in account_names_of(ircd, name))


def account_names_of(ircd: Ircd, nick: str) -> list[str]:
    """Return the accounts that own a nick: the one of that name, and the one of the name without prefix."""
    if ircd.config.nick_policy == "prefixed" and has_prefix(nick, ircd.name):
        return [nick, nick[len(nick_prefix(ircd.name)) :]]
    return [nick]


def _is_own(ircd: Ircd, session: Session, nick: str) -> bool:
    account = session.user.account
    return account is not None and fold(account) in map(fold, account_names_of(ircd, nick))


def _operator_nick_refusal(ircd: Ircd, session: Session, nick: str) -> Refusal | None:
    if not ircd.config.opers:
        return None
    names = {fold(each) for each in account_names_of(ircd, nick)}
    owners = {fold(oper.account) for oper in ircd.config.opers if oper.account} & names
    if not owners or fold(session.user.account or "") in owners:
        return None
    note_impersonation(ircd, session, f"may not be called '{nick}', which is an operator of this host")
    return _reserved(nick)


def _find_owner(ircd: Ircd, nick: str, find: Callable[[str], str | None]) -> str | None:
    owners = (find(name) for name in account_names_of(ircd, nick))
    return next((owner for owner in owners if owner is not None), None)


def _reserved(nick: str) -> Refusal:
    return Refusal(ERR_NICKNAMEINUSE, nick, "Nickname is reserved to an account; log in first (SASL)")
