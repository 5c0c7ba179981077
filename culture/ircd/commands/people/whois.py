"""WHOIS and WHOWAS: details of present and former users."""

from culture.ircd.commands.targets import require_server, split_targets
from culture.ircd.delivery.text import as_middle_param, is_number, pack
from culture.ircd.model.metadata import EVERYONE
from culture.ircd.model.user import User
from culture.ircd.model.whowas import FormerUser
from culture.ircd.refusal import Refusal, no_such_nick
from culture.ircd.replication.hosts import all_hosts, host_of
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_NONICKNAMEGIVEN,
    ERR_WASNOSUCHNICK,
    RPL_AWAY,
    RPL_ENDOFWHOIS,
    RPL_ENDOFWHOWAS,
    RPL_WHOISACCOUNT,
    RPL_WHOISBOT,
    RPL_WHOISCERTFP,
    RPL_WHOISCHANNELS,
    RPL_WHOISHOST,
    RPL_WHOISIDLE,
    RPL_WHOISKEYVALUE,
    RPL_WHOISMODES,
    RPL_WHOISOPERATOR,
    RPL_WHOISSECURE,
    RPL_WHOISSERVER,
    RPL_WHOISUSER,
    RPL_WHOWASUSER,
)
from culture.protocol.render import format_time


def whois(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the details of each nick."""
    # RFC 2812 section 3.6.2: with two parameters the first names a server, or a nick that is on it.
    server, nicks = line.params[:2] if len(line.params) > 1 else ("", line.param(0))
    asked = _require_nicks(nicks)
    try:
        if fold(server) != fold(asked):
            require_server(ircd, server)
        for nick in split_targets(asked)[: ircd.limits.targets or None]:
            _whois_one(ircd, session, nick)
    except Refusal as refusal:
        ircd.refuse(session, refusal)
    ircd.reply(session, RPL_ENDOFWHOIS, as_middle_param(asked), "End of /WHOIS list")


def _whois_one(ircd: Ircd, session: Session, nick: str) -> None:
    user = ircd.state.find_user(nick)
    if user:
        _send_whois(ircd, session, user)
    else:
        ircd.refuse(session, no_such_nick(nick))


def _send_whois(ircd: Ircd, session: Session, user: User) -> None:
    def tell(numeric: str, *params: str) -> None:
        ircd.reply(session, numeric, user.nick, *params)

    tell(RPL_WHOISUSER, user.username, user.host, "*", user.realname)
    for some in pack(_channels(session, user), ircd.room_for(session, RPL_WHOISCHANNELS, user.nick)):
        tell(RPL_WHOISCHANNELS, some)
    host = host_of(ircd, user.server, all_hosts(ircd))
    tell(RPL_WHOISSERVER, host.name, host.description)
    if user.away:
        tell(RPL_AWAY, user.away)
    if user.is_operator:
        tell(RPL_WHOISOPERATOR, "is an IRC operator")
    if user.is_bot:
        tell(RPL_WHOISBOT, "is a bot on this network")
    if user.account:
        tell(RPL_WHOISACCOUNT, user.account, "is logged in as")
    if user.session and user.session.is_secure:
        tell(RPL_WHOISSECURE, "is using a secure connection")
    if user is session.user or session.user.is_operator:
        _send_private(ircd, session, user)
    if session.knows_metadata:
        for key, value in ircd.state.metadata.of(user).items():
            tell(RPL_WHOISKEYVALUE, key, EVERYONE, value)
    idle = str(max(0, int(ircd.clock() - user.spoke_at)))
    tell(RPL_WHOISIDLE, idle, str(int(user.signed_on_at)), "seconds idle, signon time")


def _send_private(ircd: Ircd, session: Session, user: User) -> None:
    """Send the details that only the user and operators may see."""
    address = _address(user.session.peer) if user.session else user.host
    # CHGHOST may have changed the visible host.
    host = user.host if " " in address else address
    ircd.reply(session, RPL_WHOISHOST, user.nick, f"is connecting from *@{host} {address}")
    ircd.reply(session, RPL_WHOISMODES, user.nick, f"is using modes +{''.join(sorted(user.modes))}")
    if user.session and user.session.fingerprint:
        text = f"has client certificate fingerprint {user.session.fingerprint}"
        ircd.reply(session, RPL_WHOISCERTFP, user.nick, text)


def _address(peer: str) -> str:
    """Return the address without its port, because clients take the last word for an address."""
    return peer.rpartition(":")[0].strip("[]") or peer


def _channels(session: Session, user: User) -> list[str]:
    """Return the channels of a user that the asker may see, with the user's prefix in each."""
    asker = session.user
    all_prefixes = Cap.MULTI_PREFIX in session.caps
    return [
        channel.prefix(user, show_all=all_prefixes) + channel.name
        for channel in user.channels.values()
        if asker in channel.members or (channel.is_visible_to(asker) and not user.is_invisible)
    ]


def whowas(ircd: Ircd, session: Session, line: Line) -> None:
    """Send the last known details of former users of each nick."""
    asked = _require_nicks(line.param(0))
    count = line.param(1)
    most = int(count) if is_number(count) and int(count) > 0 else None
    try:
        require_server(ircd, line.param(2))
        for nick in split_targets(asked)[: ircd.limits.targets or None]:
            _whowas_one(ircd, session, nick, most)
    except Refusal as refusal:
        ircd.refuse(session, refusal)
    ircd.reply(session, RPL_ENDOFWHOWAS, as_middle_param(asked), "End of WHOWAS")


def _whowas_one(ircd: Ircd, session: Session, nick: str, most: int | None) -> None:
    formers = ircd.state.whowas.find(nick)[:most]
    for former in formers:
        _send_whowas(ircd, session, former)
    if not formers:
        ircd.refuse(session, Refusal(ERR_WASNOSUCHNICK, nick, "There was no such nickname"))


def _send_whowas(ircd: Ircd, session: Session, former: FormerUser) -> None:
    who = (former.nick, former.username, former.host, "*", former.realname)
    ircd.reply(session, RPL_WHOWASUSER, *who)
    host = former.server or ircd.name
    ircd.reply(session, RPL_WHOISSERVER, former.nick, host, format_time(former.until))


def _require_nicks(nicks: str) -> str:
    if not split_targets(nicks):
        raise Refusal(ERR_NONICKNAMEGIVEN, "No nickname given")
    return nicks
