"""ADMIN, INFO, LUSERS, MOTD, STATS, SUMMON, TIME, USERS and VERSION: information about the server."""

from collections.abc import Callable
from itertools import zip_longest

from culture.ircd.commands.session.extended_isupport import send_isupport
from culture.ircd.commands.targets import require_this_server
from culture.ircd.delivery.text import as_middle_param
from culture.ircd.model.user import UserMode
from culture.ircd.refusal import Refusal, not_an_operator
from culture.ircd.replication.hosts import all_hosts
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_NOMOTD,
    ERR_SUMMONDISABLED,
    ERR_USERSDISABLED,
    RPL_ADMINEMAIL,
    RPL_ADMINLOC1,
    RPL_ADMINLOC2,
    RPL_ADMINME,
    RPL_ENDOFINFO,
    RPL_ENDOFMOTD,
    RPL_ENDOFSTATS,
    RPL_GLOBALUSERS,
    RPL_INFO,
    RPL_LOCALUSERS,
    RPL_LUSERCHANNELS,
    RPL_LUSERCLIENT,
    RPL_LUSERME,
    RPL_LUSEROP,
    RPL_LUSERUNKNOWN,
    RPL_MOTD,
    RPL_MOTDSTART,
    RPL_STATSCOMMANDS,
    RPL_STATSLINKINFO,
    RPL_STATSOLINE,
    RPL_STATSUPTIME,
    RPL_TIME,
    RPL_VERSION,
)
from culture.protocol.render import format_time

_NOT_TOLD = "(not told)"


def admin(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the contact details from the configuration."""
    require_this_server(ircd, line.param(0))
    ircd.reply(session, RPL_ADMINME, ircd.name, "Administrative info")
    numerics = (RPL_ADMINLOC1, RPL_ADMINLOC2, RPL_ADMINEMAIL)
    for numeric, text in zip_longest(numerics, ircd.config.admin, fillvalue=_NOT_TOLD):
        ircd.reply(session, numeric, text)


def info(ircd: Ircd, session: Session, line: Line) -> None:
    """Send name, version and start time of the server."""
    require_this_server(ircd, line.param(0))
    for text in (
        f"culture-{ircd.version}: an IRC server for agents and people",
        f"{ircd.name}: {ircd.config.description}",
        f"Running since {format_time(ircd.started_at)}",
    ):
        ircd.reply(session, RPL_INFO, text)
    ircd.reply(session, RPL_ENDOFINFO, "End of INFO list")


def lusers(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the numbers of users, operators, channels and servers."""
    require_this_server(ircd, line.param(1))
    send_lusers(ircd, session)


def send_lusers(ircd: Ircd, session: Session) -> None:
    """Send the numbers of users, operators, channels and servers."""
    everyone, here = len(ircd.state.users), ircd.state.users_here
    invisible = len(ircd.state.by_mode[UserMode.INVISIBLE])
    operators = len(ircd.state.by_mode[UserMode.OPERATOR])
    hosts = all_hosts(ircd).values()
    linked = sum(host.hops == 1 for host in hosts)
    # Computed without iterating over users, because every new client gets it. max() covers a link that has
    # just closed while its host is still listed.
    unknown = max(0, len(ircd.sessions) - here - linked)
    visible = f"There are {everyone - invisible} users and {invisible} invisible on {len(hosts)} servers"
    ircd.reply(session, RPL_LUSERCLIENT, visible)
    ircd.reply(session, RPL_LUSEROP, str(operators), "operator(s) online")
    ircd.reply(session, RPL_LUSERUNKNOWN, str(unknown), "unknown connection(s)")
    ircd.reply(session, RPL_LUSERCHANNELS, str(_channels_known_to(ircd, session)), "channels formed")
    ircd.reply(session, RPL_LUSERME, f"I have {here} clients and {linked} servers")
    for numeric, which, now, most in (
        (RPL_LOCALUSERS, "local", here, ircd.state.max_local_users),
        (RPL_GLOBALUSERS, "global", everyone, ircd.state.max_users),
    ):
        ircd.reply(session, numeric, str(now), str(most), f"Current {which} users {now}, max {most}")


def _channels_known_to(ircd: Ircd, session: Session) -> int:
    """Count the channels, less the secret ones that the client is not in."""
    own = session.user.channels.keys() & ircd.state.secret
    return len(ircd.state.channels) - len(ircd.state.secret) + len(own)


def motd(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the message of the day."""
    require_this_server(ircd, line.param(0))
    send_motd(ircd, session)


def send_motd(ircd: Ircd, session: Session) -> None:
    """Send the message of the day, or that there is none."""
    text = ircd.config.motd.strip("\n")
    if not text:
        ircd.reply(session, ERR_NOMOTD, "MOTD File is missing")
        return
    ircd.reply(session, RPL_MOTDSTART, f"- {ircd.name} Message of the day - ")
    for line in text.split("\n"):
        ircd.reply(session, RPL_MOTD, f"- {line}")
    ircd.reply(session, RPL_ENDOFMOTD, "End of /MOTD command.")


def stats(ircd: Ircd, session: Session, line: Line) -> None:
    """Answer STATS by its letter. The end is always sent; letters without figures get nothing else."""
    require_this_server(ircd, line.param(1))
    query = line.param(0)[:1]
    if query in _FOR_OPERATORS and not session.user.is_operator:
        ircd.refuse(session, not_an_operator())
    elif (tell := _STATS.get(query)) is not None:
        tell(ircd, session)
    ircd.reply(session, RPL_ENDOFSTATS, as_middle_param(query), "End of /STATS report")


def _stats_uptime(ircd: Ircd, session: Session) -> None:
    ircd.reply(session, RPL_STATSUPTIME, _uptime(int(ircd.clock() - ircd.started_at)))


def _stats_connections(ircd: Ircd, session: Session) -> None:
    now = ircd.timer()
    for one in sorted(ircd.sessions, key=lambda one: one.connected_at):
        traffic = ircd.traffic_of(one)
        figures = (
            traffic.waiting_bytes,
            traffic.packets_out,
            traffic.bytes_out // 1024,
            traffic.packets_in,
            traffic.bytes_in // 1024,
            int(now - one.connected_at),
        )
        name = one.user.mask or as_middle_param(one.peer)
        ircd.reply(session, RPL_STATSLINKINFO, name, *map(str, figures), trailing=False)


def _stats_operators(ircd: Ircd, session: Session) -> None:
    for oper in ircd.config.opers:
        ircd.reply(session, RPL_STATSOLINE, "O", "*@*", "*", as_middle_param(oper.name), trailing=False)


def _stats_commands(ircd: Ircd, session: Session) -> None:
    for command, times in sorted(ircd.command_counts.items()):
        if times:
            ircd.reply(session, RPL_STATSCOMMANDS, command, str(times), trailing=False)


_STATS: dict[str, Callable[[Ircd, Session], None]] = {
    "l": _stats_connections,
    "m": _stats_commands,
    "o": _stats_operators,
    "u": _stats_uptime,
}
# Addresses of connections and names of operators are only for operators.
_FOR_OPERATORS = frozenset("lo")


def _uptime(seconds: int) -> str:
    minutes, seconds = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"Server Up {days} days {hours}:{minutes:02}:{seconds:02}"


def summon(ircd: Ircd, session: Session, line: Line) -> None:
    """Refuse the command, which is disabled."""
    raise Refusal(ERR_SUMMONDISABLED, "SUMMON has been disabled")


def users(ircd: Ircd, session: Session, line: Line) -> None:
    """Refuse the command, which is disabled."""
    raise Refusal(ERR_USERSDISABLED, "USERS has been disabled")


def time(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the server's time."""
    require_this_server(ircd, line.param(0))
    ircd.reply(session, RPL_TIME, ircd.name, format_time(ircd.clock()))


def version(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the server's version and ISUPPORT."""
    require_this_server(ircd, line.param(0))
    ircd.reply(session, RPL_VERSION, f"culture-{ircd.version}", ircd.name, ircd.config.description)
    send_isupport(ircd, session)
