"""CAP: which IRCv3 capabilities a client wants (IRCv3 capability negotiation)."""

from culture.ircd.commands.registration import finish_registration
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal
from culture.ircd.session import Phase, Session
from culture.protocol.capabilities import CAPS, Cap
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import ERR_INVALIDCAPCMD

MODERN = 302
"""Clients of this version of CAP are told of changes without asking (cap-notify)."""


def cap(ircd: Ircd, session: Session, line: Line) -> None:
    subcommand = line.param(0).upper()
    answer = _SUBCOMMANDS.get(subcommand)
    if answer is None:
        raise Refusal(ERR_INVALIDCAPCMD, line.param(0) or "*", "Invalid CAP command")
    answer(ircd, session, line)


def _ls(ircd: Ircd, session: Session, line: Line) -> None:
    _suspend_registration(session)
    version = line.param(1)
    if version.isdecimal():
        # A client may raise its version later on, never lower it.
        session.cap_version = max(session.cap_version, int(version))
    if session.cap_version >= MODERN:
        session.set_caps(session.caps | {Cap.CAP_NOTIFY})
    _send(ircd, session, "LS", " ".join(sorted(Cap)))


def _list(ircd: Ircd, session: Session, line: Line) -> None:
    _send(ircd, session, "LIST", " ".join(sorted(session.caps)))


def _req(ircd: Ircd, session: Session, line: Line) -> None:
    _suspend_registration(session)
    wanted = line.param(1).split()
    caps = set(session.caps)
    for word in wanted:
        name = word.removeprefix("-")
        cannot_drop = name == Cap.CAP_NOTIFY and word != name and session.cap_version >= MODERN
        if name not in CAPS or cannot_drop:
            _send(ircd, session, "NAK", line.param(1))
            return
        if word == name:
            caps.add(Cap(name))
        else:
            caps.discard(Cap(name))
    # The answer still has the form that the client knows.
    _send(ircd, session, "ACK", line.param(1))
    session.set_caps(caps)


def _end(ircd: Ircd, session: Session, line: Line) -> None:
    if session.phase is Phase.REGISTERING:
        session.is_negotiating = False
        finish_registration(ircd, session)


def _suspend_registration(session: Session) -> None:
    if session.phase is Phase.REGISTERING:
        session.is_negotiating = True


def _send(ircd: Ircd, session: Session, subcommand: str, caps: str) -> None:
    line = format_line("CAP", session.user.nick, subcommand, caps, source=ircd.name, trailing=True)
    ircd.send(session, line)


_SUBCOMMANDS = {"LS": _ls, "LIST": _list, "REQ": _req, "END": _end}
