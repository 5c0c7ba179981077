"""Halt agents and end a halt: tell agents and people of this host, and the other hosts."""

from typing import TYPE_CHECKING

from culture.ircd.authority.belief import is_believed
from culture.ircd.authority.halts import Halt, HaltScope
from culture.ircd.model.user import UNNAMED, User
from culture.ircd.recording.record import Moment
from culture.ircd.replication.stamps import NEVER, format_stamp, parse_stamp
from culture.ircd.session import Phase
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import EventRecord
from culture.protocol.line import format_line

if TYPE_CHECKING:
    from culture.ircd.server import Ircd
    from culture.ircd.session import Session


def change_halt(
    ircd: "Ircd", scope: HaltScope, by: str, why: str, *, is_on: bool, asked_by: "Session"
) -> None:
    """Halt this host or the mesh, or end that, and answer the client who asked.

    The end of a halt of the mesh ends that of this host, too.
    """
    halt = Halt(is_on, ircd.halts.next_stamp(ircd.clock(), ircd.name), by, why)
    if scope is HaltScope.MESH:
        _announce(ircd, halt)
        if not is_on:
            ircd.halts.set(HaltScope.HOST, halt)
    ircd.halts.set(scope, halt)
    _tell_all(ircd, halt)
    if asked_by.phase is not Phase.REGISTERED or Cap.HALT not in asked_by.caps:
        ircd.send(asked_by, halt_state_line(ircd))


def receive_halt(ircd: "Ircd", origin: str, halt: Halt) -> None:
    """Take over the halt of the mesh that another host knows, if that host is believed and it is newer."""
    if is_believed(ircd.config, origin) and ircd.halts.set(HaltScope.MESH, halt):
        _announce(ircd, halt)
        _tell_all(ircd, halt)


def halt_of(record: EventRecord) -> Halt:
    """Read a HALT event. Raises ValueError."""
    sign, stamp, by = record.params
    return Halt(sign == "+", parse_stamp(stamp), by, record.text)


def halt_words(halt: Halt) -> tuple[str, str, str]:
    """Return the parameters of a halt on links, without its reason."""
    return ("+" if halt.is_on else "-", format_stamp(halt.stamp), halt.by)


def mesh_halt_lines(ircd: "Ircd") -> list[str]:
    """Return the line of a snapshot that has the halt of the mesh, or its end, if there ever was one."""
    halt = ircd.halts.of(HaltScope.MESH)
    if halt.stamp == NEVER:
        return []
    return [format_line("HALT", *halt_words(halt), halt.why, trailing=True)]


def halt_state_line(ircd: "Ircd") -> str:
    """Return the line that says whether agents are halted."""
    current = ircd.halts.current
    if current is None:
        return format_line("UNHALT", "*", source=ircd.name)
    scope, halt = current
    since = str(halt.stamp.at_ms)
    return format_line("HALT", scope, halt.by, since, halt.why, source=ircd.name, trailing=True)


def tell_halt_state(ircd: "Ircd", session: "Session") -> None:
    """Tell a client that just registered whether agents are halted; others than agents only if they are."""
    if Cap.HALT in session.caps:
        ircd.send(session, halt_state_line(ircd))
    elif ircd.halts.current is not None:
        _notify(ircd, session, "are halted", ircd.halts.current[1])


def _announce(ircd: "Ircd", halt: Halt) -> None:
    """Tell linked hosts. The source is this host, which answers for the halt to its peers."""
    this = User(host=ircd.name, signed_on_at=ircd.clock(), username=UNNAMED)
    moment = Moment("", ircd.clock())
    ircd.record.add_for_links(moment, "HALT", this, text=halt.why, params=halt_words(halt))


def _tell_all(ircd: "Ircd", halt: Halt) -> None:
    """Tell every client of this host: agents by a line of their own, people by a NOTICE."""
    line, is_halted = halt_state_line(ircd), ircd.halts.current is not None
    what = "are halted" if halt.is_on else "are still halted" if is_halted else "may work again"
    for session in ircd.sessions:
        if session.phase is not Phase.REGISTERED:
            continue
        if Cap.HALT in session.caps:
            ircd.send(session, line)
        else:
            _notify(ircd, session, what, halt)


def _notify(ircd: "Ircd", session: "Session", what: str, halt: Halt) -> None:
    why = f": {halt.why}" if halt.why else ""
    text = f"All agents of {ircd.name} {what}, by {halt.by}{why}"
    ircd.send(session, format_line("NOTICE", session.user.nick, text, source=ircd.name, trailing=True))
