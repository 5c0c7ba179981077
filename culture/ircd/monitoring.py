"""Who monitors a nick learns that somebody has it now, or nobody any more (IRCv3 monitor)."""

from typing import TYPE_CHECKING

from culture.ircd.user import User
from culture.names import fold
from culture.protocol.numerics import RPL_MONOFFLINE, RPL_MONONLINE

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


def tell_online(ircd: "Ircd", user: User) -> None:
    for watcher in ircd.state.watchers.of(user.key):
        if watcher.session is not None:
            ircd.reply(watcher.session, RPL_MONONLINE, user.mask)


def tell_offline(ircd: "Ircd", nick: str) -> None:
    for watcher in ircd.state.watchers.of(fold(nick)):
        if watcher.session is not None:
            ircd.reply(watcher.session, RPL_MONOFFLINE, nick)
