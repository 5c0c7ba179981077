"""HELP, HELPOP and HELPINDEX: explain the commands."""

from collections.abc import Mapping, Sequence
from typing import Final

from culture.ircd.commands.server.manual import MANUAL
from culture.ircd.delivery.text import pack
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import Line
from culture.protocol.numerics import ERR_HELPNOTFOUND, RPL_ENDOFHELP, RPL_HELPSTART, RPL_HELPTXT

INDEX: Final = "INDEX"

TOPICS: Final = {
    name: (f"{name} {entry.forms}".rstrip(), entry.purpose)
    for name, entry in MANUAL.items()
    if entry.is_for_people
}


def help_(ircd: Ircd, session: Session, line: Line) -> None:
    """Explain a command, or list all of them."""
    subject = line.param(0).upper()
    topics = _topics(ircd)
    if subject in topics:
        _send(ircd, session, subject, f"The {subject} command", topics[subject])
    elif subject == INDEX:
        help_index(ircd, session, line)
    elif subject:
        raise Refusal(ERR_HELPNOTFOUND, line.param(0), "No help available on this topic")
    else:
        _send(ircd, session, "*", "Help", ["HELP <command> explains a command.", *_index(ircd)])


def help_index(ircd: Ircd, session: Session, line: Line) -> None:
    """List all commands."""
    _send(ircd, session, INDEX, "Commands", _index(ircd))


def _topics(ircd: Ircd) -> Mapping[str, Sequence[str]]:
    """Return the help texts of the server's commands and of those of its skills."""
    return {**TOPICS, **{name: row.help for name, row in ircd.skills.commands.items() if row.help}}


def _index(ircd: Ircd) -> list[str]:
    return list(pack(sorted(_topics(ircd)), 80))


def _send(ircd: Ircd, session: Session, subject: str, title: str, text: Sequence[str]) -> None:
    """Send a title, an empty line and the text; its last line has the numeric that ends the reply."""
    *lines, last = text
    ircd.reply(session, RPL_HELPSTART, subject, title)
    for line in ("", *lines):
        ircd.reply(session, RPL_HELPTXT, subject, line)
    ircd.reply(session, RPL_ENDOFHELP, subject, last)
