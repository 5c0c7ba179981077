"""ADMIN, INFO, LINKS, LUSERS, MOTD, STATS, TIME and VERSION: what the server says of itself."""

from itertools import zip_longest

from culture.ircd.core import Ircd
from culture.ircd.isupport import isupport_lines
from culture.ircd.session import Session
from culture.ircd.targets import require_server
from culture.ircd.text import one_word
from culture.ircd.user import UserMode
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_NOMOTD,
    RPL_ADMINEMAIL,
    RPL_ADMINLOC1,
    RPL_ADMINLOC2,
    RPL_ADMINME,
    RPL_ENDOFINFO,
    RPL_ENDOFLINKS,
    RPL_ENDOFMOTD,
    RPL_ENDOFSTATS,
    RPL_GLOBALUSERS,
    RPL_INFO,
    RPL_ISUPPORT,
    RPL_LINKS,
    RPL_LOCALUSERS,
    RPL_LUSERCHANNELS,
    RPL_LUSERCLIENT,
    RPL_LUSERME,
    RPL_LUSEROP,
    RPL_LUSERUNKNOWN,
    RPL_MOTD,
    RPL_MOTDSTART,
    RPL_STATSUPTIME,
    RPL_TIME,
    RPL_VERSION,
)
from culture.protocol.render import format_time

_NOT_TOLD = "(not told)"


def admin(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(0))
    ircd.reply(session, RPL_ADMINME, ircd.name, "Administrative info")
    numerics = (RPL_ADMINLOC1, RPL_ADMINLOC2, RPL_ADMINEMAIL)
    for numeric, text in zip_longest(numerics, ircd.config.admin, fillvalue=_NOT_TOLD):
        ircd.reply(session, numeric, text)


def info(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(0))
    for text in (
        f"culture-{ircd.version}: an IRC server for agents and people",
        f"{ircd.name}: {ircd.config.description}",
        f"Running since {format_time(ircd.started_at)}",
    ):
        ircd.reply(session, RPL_INFO, text)
    ircd.reply(session, RPL_ENDOFINFO, "End of INFO list")


def links(ircd: Ircd, session: Session, line: Line) -> None:
    ircd.reply(session, RPL_LINKS, "*", ircd.name, f"0 {ircd.config.description}")
    ircd.reply(session, RPL_ENDOFLINKS, "*", "End of /LINKS list")


def lusers(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(1))
    send_lusers(ircd, session)


def send_lusers(ircd: Ircd, session: Session) -> None:
    here = len(ircd.state.users)
    invisible = len(ircd.state.by_mode[UserMode.INVISIBLE])
    operators = len(ircd.state.by_mode[UserMode.OPERATOR])
    unknown = len(ircd.sessions) - here
    visible = f"There are {here - invisible} users and {invisible} invisible on 1 servers"
    ircd.reply(session, RPL_LUSERCLIENT, visible)
    ircd.reply(session, RPL_LUSEROP, str(operators), "operator(s) online")
    ircd.reply(session, RPL_LUSERUNKNOWN, str(unknown), "unknown connection(s)")
    ircd.reply(session, RPL_LUSERCHANNELS, str(len(ircd.state.channels)), "channels formed")
    ircd.reply(session, RPL_LUSERME, f"I have {here} clients and 0 servers")
    most = ircd.state.most_users
    counts = (str(here), str(most))
    ircd.reply(session, RPL_LOCALUSERS, *counts, f"Current local users {here}, max {most}")
    ircd.reply(session, RPL_GLOBALUSERS, *counts, f"Current global users {here}, max {most}")


def motd(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(0))
    send_motd(ircd, session)


def send_motd(ircd: Ircd, session: Session) -> None:
    text = ircd.config.motd.strip("\n")
    if not text:
        ircd.reply(session, ERR_NOMOTD, "MOTD File is missing")
        return
    ircd.reply(session, RPL_MOTDSTART, f"- {ircd.name} Message of the day - ")
    for line in text.split("\n"):
        ircd.reply(session, RPL_MOTD, f"- {line}")
    ircd.reply(session, RPL_ENDOFMOTD, "End of /MOTD command.")


def stats(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(1))
    query = line.param(0)[:1]
    if query == "u":
        ircd.reply(session, RPL_STATSUPTIME, _uptime(int(ircd.clock() - ircd.started_at)))
    ircd.reply(session, RPL_ENDOFSTATS, one_word(query), "End of /STATS report")


def _uptime(seconds: int) -> str:
    minutes, seconds = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"Server Up {days} days {hours}:{minutes:02}:{seconds:02}"


def time(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(0))
    ircd.reply(session, RPL_TIME, ircd.name, format_time(ircd.clock()))


def version(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(0))
    ircd.reply(session, RPL_VERSION, f"culture-{ircd.version}", ircd.name, ircd.config.description)
    send_isupport(ircd, session)


def send_isupport(ircd: Ircd, session: Session) -> None:
    for tokens in isupport_lines(ircd.config):
        ircd.reply(session, RPL_ISUPPORT, *tokens, "are supported by this server")
