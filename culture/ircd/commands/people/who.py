"""WHO and WHOX: search for users."""

from collections.abc import Callable

from culture.ircd.delivery.text import as_middle_param, is_number
from culture.ircd.model.ban_lists import complete_mask
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User, UserMode
from culture.ircd.replication.hosts import all_hosts, host_of
from culture.ircd.replication.links import ReachableHost
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import Steps
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.masks import matcher
from culture.protocol.numerics import RPL_ENDOFWHO, RPL_WHOREPLY, RPL_WHOSPCRPL

# The fields of WHOX in the order in which they are sent (IRCv3 WHOX).
_FIELDS = "tcuihsnfdlaor"
_SECRET_ADDRESS = "255.255.255.255"
_NO_ACCOUNT = "0"
# Channel operators have no levels.
_NO_LEVEL = "n/a"
# The most users that a mask finds, except for operators of the server.
_MOST_FOUND = 1000


def who(ircd: Ircd, session: Session, line: Line) -> Steps:
    """List the users in a channel, or those that match a mask."""
    mask = line.param(0)
    flags, extended, query = line.param(1).partition("%")
    fields, _, token = query.partition(",")
    channel = ircd.state.find_channel(mask)
    hosts = all_hosts(ircd)
    candidates, is_wanted = _search(ircd, session.user, mask, channel)
    most, found = (None if channel or session.user.is_operator else _MOST_FOUND), 0
    for user in candidates:
        if is_wanted(user) and ("o" not in flags or user.is_operator):
            host = host_of(ircd, user.server, hosts)
            if extended:
                _send_extended(ircd, session, user, host, channel, fields, token)
            else:
                _send(ircd, session, user, host, channel)
            found += 1
            if found == most:
                break
        yield
    ircd.reply(session, RPL_ENDOFWHO, as_middle_param(mask), "End of WHO list")


def _search(
    ircd: Ircd, asker: User, mask: str, channel: Channel | None
) -> tuple[list[User], Callable[[User], bool]]:
    """Return candidates, and a test that each of them has to pass when it is about to be sent.

    A candidate may have left since the last step.
    """
    if channel:
        return channel.members_for(asker), channel.members.__contains__
    if mask.startswith("#"):
        return [], bool
    exact = ircd.state.find_user(mask)
    if exact:
        return [exact], lambda user: True
    return list(ircd.state.users.values()), _filter(ircd, asker, mask)


def _filter(ircd: Ircd, asker: User, mask: str) -> Callable[[User], bool]:
    """Return a test for users that match a mask and are not invisible to the asker."""
    seen, users = ircd.state.neighbours(asker), ircd.state.users
    # A full mask `nick!user@host` is matched as a whole; a word matches nick, user name, host or real name.
    whole = complete_mask(mask) if "!" in mask or "@" in mask else None
    is_match = None if mask in ("", "0", "*") else matcher(whole or mask)

    def is_wanted(user: User) -> bool:
        if users.get(fold(user.nick)) is not user or (user.is_invisible and user not in seen):
            return False
        return is_match is None or any(map(is_match, [user.mask] if whole else _names(user)))

    return is_wanted


def _names(user: User) -> list[str]:
    return [user.nick, user.username, user.host, user.realname]


def _send(ircd: Ircd, session: Session, user: User, host: ReachableHost, channel: Channel | None) -> None:
    name = channel.name if channel else "*"
    where = (name, user.username, user.host, host.name, user.nick)
    ircd.reply(session, RPL_WHOREPLY, *where, _flags(session, user, channel), f"{host.hops} {user.realname}")


def _send_extended(
    ircd: Ircd,
    session: Session,
    user: User,
    host: ReachableHost,
    channel: Channel | None,
    fields: str,
    token: str,
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
    """Return the WHO flags: here or gone, server operator, channel prefix, bot."""
    presence = "G" if user.away else "H"
    operator = "*" if user.is_operator else ""
    prefix = channel.prefix(user, show_all=Cap.MULTI_PREFIX in session.caps) if channel else ""
    return presence + operator + prefix + (UserMode.BOT if user.is_bot else "")
