"""HELP, HELPOP and HELPINDEX: what one can type."""

from collections.abc import Sequence
from typing import Final

from culture.ircd.commands.manual import MANUAL
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal
from culture.ircd.session import Session
from culture.ircd.text import pack
from culture.protocol.line import Line
from culture.protocol.numerics import ERR_HELPNOTFOUND, RPL_ENDOFHELP, RPL_HELPSTART, RPL_HELPTXT

INDEX: Final = "INDEX"

TOPICS: Final = {
    name: (f"{name} {entry.forms}".rstrip(), entry.purpose)
    for name, entry in MANUAL.items()
    if entry.is_for_people
}


def help_(ircd: Ircd, session: Session, line: Line) -> None:
    subject = line.param(0).upper()
    if subject in TOPICS:
        _send(ircd, session, subject, f"The {subject} command", TOPICS[subject])
    elif subject == INDEX:
        help_index(ircd, session, line)
    elif subject:
        raise Refusal(ERR_HELPNOTFOUND, line.param(0), "No help available on this topic")
    else:
        _send(ircd, session, "*", "Help", ["HELP <command> tells what a command does.", *_index()])


def help_index(ircd: Ircd, session: Session, line: Line) -> None:
    _send(ircd, session, INDEX, "Commands", _index())


def _index() -> list[str]:
    return list(pack(TOPICS, 80))


def _send(ircd: Ircd, session: Session, subject: str, title: str, text: Sequence[str]) -> None:
    """A title, an empty line and the text, the last line of which ends it."""
    *lines, last = text
    ircd.reply(session, RPL_HELPSTART, subject, title)
    for line in ("", *lines):
        ircd.reply(session, RPL_HELPTXT, subject, line)
    ircd.reply(session, RPL_ENDOFHELP, subject, last)
