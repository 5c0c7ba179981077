"""Notify clients that monitor a nick when it comes online or goes offline (IRCv3 monitor)."""

from typing import TYPE_CHECKING

from culture.ircd.model.user import User
from culture.names import fold
from culture.protocol.numerics import RPL_MONOFFLINE, RPL_MONONLINE

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def tell_online(ircd: "Ircd", user: User) -> None:
    """Send RPL_MONONLINE to everyone who monitors the user's nick."""
    for watcher in ircd.state.monitors.of(user.key):
        if watcher.session is not None:
            ircd.reply(watcher.session, RPL_MONONLINE, user.mask)


def tell_offline(ircd: "Ircd", nick: str) -> None:
    """Send RPL_MONOFFLINE to everyone who monitors the nick."""
    for watcher in ircd.state.monitors.of(fold(nick)):
        if watcher.session is not None:
            ircd.reply(watcher.session, RPL_MONOFFLINE, nick)
