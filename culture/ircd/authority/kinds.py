"""Decide whether a person or an agent is behind a user: by proof and configuration, not by nick or mode.

An agent of this host is known by its Unix user, by its account, or by its nick, which is reserved for it. A
person is whom `people` in ircd.yaml names: by the account that they logged in to, or by their Unix user.
Everybody else is a guest of unknown kind, who may use the network and decides nothing for agents.
"""

from typing import Final

from culture.config.ircd import ACCOUNT_PREFIX, UNIX_PREFIX
from culture.ircd.commands.session.confinement import is_agent
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.authority.senders import SenderKind
from culture.protocol.masks import is_match

# The uids of ordinary users (login.defs(5), UID_MIN) end before `nobody`.
_ORDINARY_UIDS: Final = range(1000, 65534)
_ROOT: Final = 0
_WILDCARDS: Final = frozenset("*?")


def update_kind(ircd: Ircd, session: Session) -> None:
    """Note what a session's user is, after something changed that it depends on."""
    ircd.state.set_kind(session.user, kind_of(ircd, session))


def update_all_kinds(ircd: Ircd) -> None:
    """Note what all users of this host are, because the configuration changed."""
    for session in ircd.sessions:
        update_kind(ircd, session)


def kind_of(ircd: Ircd, session: Session) -> SenderKind:
    """Return what is proved about the user of a session. An agent stays one as long as the session lasts."""
    user = session.user
    if user.kind is SenderKind.AGENT or is_agent(session):
        return SenderKind.AGENT
    if any(ircd.agents.find(name) is not None for name in (user.nick, user.account) if name):
        return SenderKind.AGENT
    if user.is_bot:
        return SenderKind.UNKNOWN
    is_person = any(_is_named(ircd, session, who) for who in ircd.config.people)
    return SenderKind.PERSON if is_person else SenderKind.UNKNOWN


def _is_named(ircd: Ircd, session: Session, who: str) -> bool:
    """Return whether a session is that of somebody in `people`."""
    mask = who.partition(":")[2]
    is_mask = not _WILDCARDS.isdisjoint(mask)
    if who.startswith(ACCOUNT_PREFIX):
        account = session.user.account
        # Anybody can register an account, an agent too: then only those count that the operator named.
        is_open = is_mask and ircd.config.accounts.registration
        return account is not None and not is_open and is_match(mask, account)
    if not who.startswith(UNIX_PREFIX) or session.uid is None:
        return False
    if not is_mask:
        return session.unix_user == mask
    is_ordinary = session.uid == _ROOT or session.uid in _ORDINARY_UIDS
    return is_ordinary and not ircd.agents.runs_as(session.uid) and is_match(mask, session.unix_user)
