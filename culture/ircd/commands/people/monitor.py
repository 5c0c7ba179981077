"""MONITOR: notify a client when nicks go online or offline (IRCv3 monitor)."""

from collections.abc import Iterable

from culture.ircd.commands.targets import split_targets
from culture.ircd.delivery.metadata_push import send_online
from culture.ircd.delivery.text import pack
from culture.ircd.refusal import Refusal, need_more_params
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import is_nick
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_MONLISTFULL,
    ERR_UNKNOWNERROR,
    RPL_ENDOFMONLIST,
    RPL_MONLIST,
    RPL_MONOFFLINE,
    RPL_MONONLINE,
)


def monitor(ircd: Ircd, session: Session, line: Line) -> None:
    """Run the subcommand."""
    subcommand = line.param(0).upper()
    answer = _SUBCOMMANDS.get(subcommand)
    if answer is None:
        raise Refusal(ERR_UNKNOWNERROR, "MONITOR", line.param(0), "Unknown MONITOR command")
    answer(ircd, session, line.param(1))


def _add(ircd: Ircd, session: Session, targets: str) -> None:
    if not targets:
        raise need_more_params("MONITOR")
    most = ircd.limits.monitored_nicks
    added: list[str] = []
    refused: list[str] = []
    for nick in split_targets(targets):
        if not is_nick(nick) or len(nick) > ircd.limits.nick_length:
            continue
        # A nick that is already on the list is neither added nor reported again.
        if not ircd.state.monitors.has(session.user, nick):
            has_room = ircd.state.monitors.add(session.user, nick, most)
            (added if has_room else refused).append(nick)
    _send_status(ircd, session, added)
    full = "Monitor list is full"
    for some in pack(refused, ircd.room_for(session, ERR_MONLISTFULL, str(most), full), separator=","):
        ircd.reply(session, ERR_MONLISTFULL, str(most), some, full)


def _remove(ircd: Ircd, session: Session, targets: str) -> None:
    if not targets:
        raise need_more_params("MONITOR")
    ircd.state.monitors.remove(session.user, split_targets(targets))


def _clear(ircd: Ircd, session: Session, targets: str) -> None:
    ircd.state.monitors.forget(session.user)


def _list(ircd: Ircd, session: Session, targets: str) -> None:
    _send(ircd, session, RPL_MONLIST, ircd.state.monitors.watched_by(session.user))
    ircd.reply(session, RPL_ENDOFMONLIST, "End of MONITOR list")


def _status(ircd: Ircd, session: Session, targets: str) -> None:
    _send_status(ircd, session, ircd.state.monitors.watched_by(session.user))


def _send_status(ircd: Ircd, session: Session, nicks: Iterable[str]) -> None:
    online, offline = [], []
    for nick in nicks:
        user = ircd.state.find_user(nick)
        if user:
            online.append(user)
        else:
            offline.append(nick)
    _send(ircd, session, RPL_MONONLINE, (user.mask for user in online))
    _send(ircd, session, RPL_MONOFFLINE, offline)
    for user in online:
        send_online(ircd, session, user)


def _send(ircd: Ircd, session: Session, numeric: str, targets: Iterable[str]) -> None:
    for some in pack(targets, ircd.room_for(session, numeric), separator=","):
        ircd.reply(session, numeric, some)


_SUBCOMMANDS = {"+": _add, "-": _remove, "C": _clear, "L": _list, "S": _status}
