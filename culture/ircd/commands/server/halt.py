"""HALT and UNHALT: stop all agents of this host, or of all linked hosts (extensions/halt.md)."""

from culture.ircd.authority.halting import change_halt
from culture.ircd.authority.halts import HaltScope
from culture.ircd.commands.session.confinement import is_refused_to_agents
from culture.ircd.failures import Failure
from culture.ircd.model.opers import require_privilege
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.protocol.line import Line
from culture.protocol.peers.validate import TEXT_LENGTH


def halt(ircd: Ircd, session: Session, line: Line) -> None:
    """Stop all agents, given `host|mesh [reason]`."""
    _change(ircd, session, line, is_on=True)


def unhalt(ircd: Ircd, session: Session, line: Line) -> None:
    """Let agents work again, given `host|mesh [reason]`."""
    _change(ircd, session, line, is_on=False)


def _change(ircd: Ircd, session: Session, line: Line, *, is_on: bool) -> None:
    command = "HALT" if is_on else "UNHALT"
    answer = Failure("AGENT_REFUSED", text="Agents neither halt nor end a halt")
    if is_refused_to_agents(ircd, session, command, answer):
        return
    if session.user.is_agent:
        raise answer
    if not session.is_administrator:
        require_privilege(ircd, session, "halt")
    if line.param(0) not in set(HaltScope):
        raise Failure("INVALID_PARAMS", text="The scope is host or mesh")
    scope, why = HaltScope(line.param(0)), line.param(1)[:TEXT_LENGTH]
    by = session.user.nick if session.phase is Phase.REGISTERED else session.unix_user or "root"
    change_halt(ircd, scope, by, why, is_on=is_on, asked_by=session)
