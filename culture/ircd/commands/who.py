"""WHO and WHOX: looking for people."""

from collections.abc import Iterable, Iterator
from itertools import islice

from culture.ircd.bans import complete_mask
from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.links import Linked
from culture.ircd.session import Session
from culture.ircd.text import is_number, one_word
from culture.ircd.user import User, UserMode
from culture.ircd.whereabouts import all_hosts, host_of
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.masks import matcher
from culture.protocol.numerics import RPL_ENDOFWHO, RPL_WHOREPLY, RPL_WHOSPCRPL

_FIELDS = "tcuihsnfdlaor"
"""The fields of WHOX in the order in which they are sent (IRCv3 WHOX)."""
_SECRET_ADDRESS = "255.255.255.255"
_NO_ACCOUNT = "0"
_NO_LEVEL = "n/a"
"""Operators of a channel are all the same here."""
_MOST_FOUND = 1000
"""How many people a mask finds. Operators of the server find all of them."""


def who(ircd: Ircd, session: Session, line: Line) -> None:
    mask = line.param(0)
    flags, extended, query = line.param(1).partition("%")
    fields, _, token = query.partition(",")
    channel = ircd.state.find_channel(mask)
    hosts = all_hosts(ircd)
    for user in _found(ircd, session.user, mask, channel):
        if "o" in flags and not user.is_operator:
            continue
        host = host_of(ircd, user.server, hosts)
        if extended:
            _send_extended(ircd, session, user, host, channel, fields, token)
        else:
            _send(ircd, session, user, host, channel)
    ircd.reply(session, RPL_ENDOFWHO, one_word(mask), "End of WHO list")


def _found(ircd: Ircd, asker: User, mask: str, channel: Channel | None) -> Iterable[User]:
    if channel:
        return channel.members_for(asker)
    return [] if mask.startswith("#") else _matching(ircd, asker, mask)


def _matching(ircd: Ircd, asker: User, mask: str) -> Iterable[User]:
    """Who a mask finds: an exact nick always, by a pattern only those who do not hide from the asker."""
    exact = ircd.state.find_user(mask)
    if exact:
        return [exact]
    found = _visible(ircd, asker)
    if mask not in ("", "0", "*"):
        # Of `nick!user@host` all of it has to fit, of a word any part of who somebody is.
        whole = complete_mask(mask) if "!" in mask or "@" in mask else None
        is_match = matcher(whole or mask)
        found = (user for user in found if any(map(is_match, [user.mask] if whole else _names(user))))
    return islice(found, None if asker.is_operator else _MOST_FOUND)


def _names(user: User) -> list[str]:
    return [user.nick, user.username, user.host, user.realname]


def _visible(ircd: Ircd, asker: User) -> Iterator[User]:
    seen = ircd.state.neighbours(asker)
    return (user for user in ircd.state.users.values() if user in seen or not user.is_invisible)


def _send(ircd: Ircd, session: Session, user: User, host: Linked, channel: Channel | None) -> None:
    name = channel.name if channel else "*"
    where = (name, user.username, user.host, host.name, user.nick)
    ircd.reply(session, RPL_WHOREPLY, *where, _flags(session, user, channel), f"{host.hops} {user.realname}")


def _send_extended(
    ircd: Ircd, session: Session, user: User, host: Linked, channel: Channel | None, fields: str, token: str
) -> None:
    values = {
        "t": token if is_number(token) and len(token) <= 3 else "0",
        "c": channel.name if channel else "*",
        "u": user.username,
        "i": _SECRET_ADDRESS,
        "h": user.host,
        "s": host.name,
        "n": user.nick,
        "f": _flags(session, user, channel),
        "d": str(host.hops),
        "l": str(max(0, int(ircd.clock() - user.spoke_at))),
        "a": user.account or _NO_ACCOUNT,
        "o": _NO_LEVEL,
        "r": user.realname,
    }
    asked = [values[field] for field in _FIELDS if field in fields]
    ircd.reply(session, RPL_WHOSPCRPL, *asked, trailing="r" in fields)


def _flags(session: Session, user: User, channel: Channel | None) -> str:
    """Here or gone, an operator of the server, the standing in the channel, a bot."""
    presence = "G" if user.away else "H"
    operator = "*" if user.is_operator else ""
    prefix = channel.prefix(user, all_of_them=Cap.MULTI_PREFIX in session.caps) if channel else ""
    return presence + operator + prefix + (UserMode.BOT if user.is_bot else "")
