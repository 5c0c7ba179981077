"""SERVER, LINKS, MAP, CONNECT and SQUIT: the hosts of the network and the links between them."""

from collections.abc import Iterator, Mapping

from culture.ircd.commands.session.confinement import is_agent, note_impersonation
from culture.ircd.commands.targets import require_this_server
from culture.ircd.delivery.text import as_middle_param
from culture.ircd.failures import Failure
from culture.ircd.model.opers import require_privilege
from culture.ircd.refusal import Refusal
from culture.ircd.replication.hosts import all_hosts, users_on
from culture.ircd.replication.links import MeshLinksPort, ReachableHost
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.protocol.line import Line, format_line
from culture.protocol.masks import is_match
from culture.protocol.numerics import ERR_NOSUCHSERVER, RPL_ENDOFLINKS, RPL_LINKS, RPL_MAP, RPL_MAPEND


def server(ircd: Ircd, session: Session, line: Line) -> None:
    """Hand a connection that introduces itself as a host over to the mesh, which authenticates it."""
    if is_agent(session):
        note_impersonation(ircd, session, "may not link as a host: it is an agent")
        ircd.close(session, "Agents cannot link as a host")
        return
    if ircd.links is None:
        ircd.close(session, "No links are configured")
        return
    session.phase = Phase.PROVING
    ircd.state.dirty.touch(session)
    ircd.links.introduced(session, line)
    session.password = ""


def links(ircd: Ircd, session: Session, line: Line) -> None:
    """List the hosts of the network that match a mask."""
    # RFC 2812 section 3.4.5: the mask follows the optional server that is to answer.
    *answering, mask = line.params or ("",)
    if answering:
        require_this_server(ircd, answering[0])
    for host in all_hosts(ircd).values():
        if is_match(mask or "*", host.name):
            ircd.reply(session, RPL_LINKS, host.name, host.via, f"{host.hops} {host.description}")
    ircd.reply(session, RPL_ENDOFLINKS, as_middle_param(mask), "End of /LINKS list")


def map_(ircd: Ircd, session: Session, line: Line) -> None:
    """Show the hosts of the network as a tree."""
    for text in _tree(ircd, all_hosts(ircd), ircd.name, "", ""):
        ircd.reply(session, RPL_MAP, text)
    ircd.reply(session, RPL_MAPEND, "End of /MAP")


def _tree(
    ircd: Ircd, hosts: Mapping[str, ReachableHost], name: str, branch: str, indent: str
) -> Iterator[str]:
    users = users_on(ircd, name)
    yield f"{branch}{name} ({users} {'user' if users == 1 else 'users'})"
    behind = [host.name for host in hosts.values() if host.via == name and host.name != name]
    for other in behind:
        is_last = other == behind[-1]
        yield from _tree(
            ircd, hosts, other, f"{indent}{'`' if is_last else '|'}- ", indent + ("   " if is_last else "|  ")
        )


def connect(ircd: Ircd, session: Session, line: Line) -> None:
    """Connect to a configured host now."""
    name = line.param(0)
    why_not = _require_links(ircd, session, "CONNECT", name).connect(name)
    _answer(ircd, session, "CANNOT_CONNECT", name, why_not, f"Connecting to {name}")


def squit(ircd: Ircd, session: Session, line: Line) -> None:
    """Close the link to a host and do not reopen it."""
    name, reason = line.param(0), line.param(1) or f"Closed by {session.user.nick}"
    why_not = _require_links(ircd, session, "SQUIT", name).disconnect(name, reason)
    _answer(ircd, session, "CANNOT_DISCONNECT", name, why_not, f"The link to {name} is closed")


def _require_links(ircd: Ircd, session: Session, command: str, name: str) -> MeshLinksPort:
    require_privilege(ircd, session, "link")
    if ircd.links is None:
        raise Refusal(ERR_NOSUCHSERVER, name, "No links are configured")
    ircd.notes.add("link-asked", session, f"asked for {command} {name}", operator=session.oper)
    return ircd.links


def _answer(ircd: Ircd, session: Session, code: str, name: str, why_not: str, done: str) -> None:
    if why_not:
        raise Failure(code, name, text=why_not)
    ircd.send(session, format_line("NOTICE", session.user.nick, done, source=ircd.name, trailing=True))
