"""Keep agents from impersonating others, and everybody else from impersonating an agent.

A session whose Unix user is an agent's (`Proof.AGENT_UNIX_USER`) is logged in to the agent's account from
the start. It uses only the agent's nick, logs in to no other account, creates none, may not use RELAYMSG, and
becomes neither an operator nor a link. The nick and the account of an agent are refused to everyone else,
whether or not the agent is connected.
"""

from culture.ircd.auth.proof import Proof
from culture.ircd.commands.session.failed_logins import count_failure
from culture.ircd.failures import Failure
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import fold
from culture.protocol.numerics import ERR_ERRONEUSNICKNAME, ERR_NICKNAMEINUSE


def is_agent(session: Session) -> bool:
    """Return whether the kernel proved by the Unix user that this session is an agent."""
    return session.proof is Proof.AGENT_UNIX_USER


def is_refused_to_agents(ircd: Ircd, session: Session, command: str, answer: Refusal | Failure) -> bool:
    """Refuse a command to an agent with this answer and log it; return whether it was refused."""
    if not is_agent(session):
        return False
    refuse_impersonation(ircd, session, f"may not use {command}: it is an agent", command, answer)
    return True


def is_another_nick(ircd: Ircd, session: Session, nick: str) -> bool:
    """Refuse an agent any nick but its own; return whether it was refused."""
    own = session.user.account
    if not is_agent(session) or own is None or fold(nick) == fold(own):
        return False
    answer = Refusal(ERR_ERRONEUSNICKNAME, nick, f"You are the agent {own} and cannot use another nick")
    what = f"may not be called '{nick}': it is the agent '{own}'"
    refuse_impersonation(ircd, session, what, "NICK", answer)
    return True


def agent_nick_refusal(ircd: Ircd, session: Session, nick: str) -> Refusal | None:
    """Return the refusal if the nick belongs to an agent that the session is not, and log the attempt."""
    agent = ircd.agents.find(nick)
    if agent is None:
        return None
    account = session.user.account
    is_logged_in = account is not None and fold(account) == fold(agent.nick)
    if session.uid in agent.uids or (is_logged_in and (is_agent(session) or not agent.has_own_user)):
        return None
    note_impersonation(ircd, session, f"may not be called '{agent.nick}', which is an agent of this host")
    return Refusal(ERR_NICKNAMEINUSE, nick, "Nickname is reserved to an agent of this host")


def is_nick_of_present_agent(ircd: Ircd, session: Session, nick: str) -> bool:
    """Refuse the nick of a connected agent to others; return whether it was refused."""
    if ircd.state.find_user(nick) in (None, session.user):
        return False
    refusal = agent_nick_refusal(ircd, session, nick)
    if refusal is None:
        return False
    ircd.refuse(session, refusal)
    count_failure(ircd, session)
    return True


def may_log_in(ircd: Ircd, session: Session, account: str) -> bool:
    """Return whether confinement lets the session log in to this account; log the attempt if not."""
    if is_agent(session):
        own = session.user.account
        if own is not None and fold(account) == fold(own):
            return True
        note_impersonation(ircd, session, f"may not log in as '{account}': it is the agent '{own}'", account)
        return False
    agent = ircd.agents.find(account)
    if agent is None or not agent.has_own_user:
        return True
    what = f"may not log in as '{agent.nick}', which is an agent of this host and has its own Unix user"
    note_impersonation(ircd, session, what, agent.nick)
    return False


def refuse_impersonation(
    ircd: Ircd, session: Session, what: str, command: str, answer: Refusal | Failure
) -> None:
    """Refuse, log, and count a failed login, so that repeated attempts end the connection."""
    note_impersonation(ircd, session, what)
    if isinstance(answer, Refusal):
        ircd.refuse(session, answer)
    else:
        ircd.send(session, answer.line(command, ircd.name))
    count_failure(ircd, session)


def note_impersonation(ircd: Ircd, session: Session, what: str, account: str | None = None) -> None:
    """Write an attempt at impersonation to the audit log."""
    ircd.notes.add("impersonation-refused", session, what, account=account or session.user.account)
