"""LIST, LUSERS, MOTD, USERHOST, WHO and WHOIS: asking who and what is here."""

from collections.abc import Iterable

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal, no_such_nick
from culture.ircd.session import Phase, Session
from culture.ircd.targets import split_targets
from culture.ircd.text import pack
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.masks import is_match
from culture.protocol.numerics import (
    ERR_NOMOTD,
    ERR_NONICKNAMEGIVEN,
    ERR_NOSUCHSERVER,
    RPL_ENDOFMOTD,
    RPL_ENDOFWHO,
    RPL_ENDOFWHOIS,
    RPL_GLOBALUSERS,
    RPL_LIST,
    RPL_LISTEND,
    RPL_LISTSTART,
    RPL_LOCALUSERS,
    RPL_LUSERCHANNELS,
    RPL_LUSERCLIENT,
    RPL_LUSERME,
    RPL_LUSERUNKNOWN,
    RPL_MOTD,
    RPL_MOTDSTART,
    RPL_USERHOST,
    RPL_WHOISCHANNELS,
    RPL_WHOISIDLE,
    RPL_WHOISSERVER,
    RPL_WHOISUSER,
    RPL_WHOREPLY,
)

_USERHOST_NICKS = 5


def list_(ircd: Ircd, session: Session, line: Line) -> None:
    wanted = split_targets(line.param(0))
    named = (ircd.state.find_channel(name) for name in wanted) if wanted else ircd.state.channels.values()
    ircd.reply(session, RPL_LISTSTART, "Channel", "Users  Name")
    for channel in named:
        if channel:
            text = channel.topic.text if channel.topic else ""
            ircd.reply(session, RPL_LIST, channel.name, str(len(channel.members)), text)
    ircd.reply(session, RPL_LISTEND, "End of /LIST")


def lusers(ircd: Ircd, session: Session, line: Line) -> None:
    send_lusers(ircd, session)


def send_lusers(ircd: Ircd, session: Session) -> None:
    users = ircd.state.users.values()
    invisible = sum(user.is_invisible for user in users)
    unknown = sum(other.phase is Phase.REGISTERING for other in ircd.sessions)
    here = len(users)
    visible = f"There are {here - invisible} users and {invisible} invisible on 1 servers"
    ircd.reply(session, RPL_LUSERCLIENT, visible)
    ircd.reply(session, RPL_LUSERUNKNOWN, str(unknown), "unknown connection(s)")
    ircd.reply(session, RPL_LUSERCHANNELS, str(len(ircd.state.channels)), "channels formed")
    ircd.reply(session, RPL_LUSERME, f"I have {here} clients and 0 servers")
    most = ircd.state.most_users
    counts = (str(here), str(most))
    ircd.reply(session, RPL_LOCALUSERS, *counts, f"Current local users {here}, max {most}")
    ircd.reply(session, RPL_GLOBALUSERS, *counts, f"Current global users {here}, max {most}")


def motd(ircd: Ircd, session: Session, line: Line) -> None:
    _require_this_server(ircd, line.param(0))
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


def userhost(ircd: Ircd, session: Session, line: Line) -> None:
    users = (ircd.state.find_user(nick) for nick in line.params[:_USERHOST_NICKS])
    ircd.reply(session, RPL_USERHOST, " ".join(f"{u.nick}=+{u.username}@{u.host}" for u in users if u))


def who(ircd: Ircd, session: Session, line: Line) -> None:
    mask = line.param(0)
    channel = ircd.state.find_channel(mask)
    if channel:
        is_member = session.user in channel.members
        found = [user for user in channel.members if is_member or not user.is_invisible]
    elif mask.startswith("#"):
        found = []
    else:
        found = _matching(ircd, session.user, mask)
    for user in found:
        _send_who(ircd, session, user, channel)
    ircd.reply(session, RPL_ENDOFWHO, mask or "*", "End of WHO list")


def _matching(ircd: Ircd, asker: User, mask: str) -> list[User]:
    """Who a mask finds: an exact nick always, by a pattern only those who do not hide from the asker."""
    exact = ircd.state.find_user(mask)
    if exact:
        return [exact]
    if mask in ("", "0"):
        mask = "*"
    seen = ircd.state.neighbours(asker)
    return [
        user
        for user in ircd.state.users.values()
        if (user in seen or not user.is_invisible)
        and any(is_match(mask, word) for word in (user.nick, user.username, user.host, user.realname))
    ]


def _send_who(ircd: Ircd, session: Session, user: User, channel: Channel | None) -> None:
    all_prefixes = Cap.MULTI_PREFIX in session.caps
    prefix = channel.prefix(user, all_of_them=all_prefixes) if channel else ""
    where = (channel.name if channel else "*", user.username, user.host, ircd.name, user.nick)
    ircd.reply(session, RPL_WHOREPLY, *where, f"H{prefix}", f"0 {user.realname}")


def whois(ircd: Ircd, session: Session, line: Line) -> None:
    # RFC 2812 section 3.6.2: with two parameters the first names a server, or a nick that is on it.
    if len(line.params) > 1 and not ircd.state.find_user(line.param(0)):
        _require_this_server(ircd, line.param(0))
    nicks = line.params[-1] if line.params else ""
    if not nicks:
        raise Refusal(ERR_NONICKNAMEGIVEN, "No nickname given")
    for nick in split_targets(nicks):
        user = ircd.state.find_user(nick)
        if user:
            _send_whois(ircd, session, user)
        else:
            ircd.refuse(session, no_such_nick(nick))
        ircd.reply(session, RPL_ENDOFWHOIS, user.nick if user else nick, "End of /WHOIS list")


def _send_whois(ircd: Ircd, session: Session, user: User) -> None:
    ircd.reply(session, RPL_WHOISUSER, user.nick, user.username, user.host, "*", user.realname)
    all_prefixes = Cap.MULTI_PREFIX in session.caps
    channels = user.channels.values()
    named: Iterable[str] = (c.prefix(user, all_of_them=all_prefixes) + c.name for c in channels)
    for some in pack(named, ircd.room_for(session, RPL_WHOISCHANNELS, user.nick)):
        ircd.reply(session, RPL_WHOISCHANNELS, user.nick, some)
    ircd.reply(session, RPL_WHOISSERVER, user.nick, ircd.name, ircd.config.description)
    idle = str(max(0, int(ircd.clock() - user.spoke_at)))
    since = str(int(user.signed_on_at))
    ircd.reply(session, RPL_WHOISIDLE, user.nick, idle, since, "seconds idle, signon time")


def _require_this_server(ircd: Ircd, name: str) -> None:
    if name and not is_match(name, ircd.name):
        raise Refusal(ERR_NOSUCHSERVER, name, "No such server")
