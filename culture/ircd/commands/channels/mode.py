"""MODE: show or change the modes of a channel or of the client's own user."""

from culture.ircd.authority.kinds import update_kind
from culture.ircd.commands.channels.channel_modes import change_modes
from culture.ircd.commands.targets import require_channel
from culture.ircd.delivery.send_from import send_from
from culture.ircd.model.modes import Effective, read_all_changes
from culture.ircd.model.user import GRANTED, USER_MODES, User, UserMode
from culture.ircd.recording.record import Moment
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_UMODEUNKNOWNFLAG,
    ERR_USERSDONTMATCH,
    RPL_CHANNELMODEIS,
    RPL_CREATIONTIME,
    RPL_UMODEIS,
)


def mode(ircd: Ircd, session: Session, line: Line) -> None:
    """Show or change the modes of the target."""
    target, *changes = line.params
    if not target:
        raise need_more_params("MODE")
    if not target.startswith("#"):
        _user_mode(ircd, session, target, changes)
        return
    channel = require_channel(ircd, session, target)
    if changes:
        change_modes(ircd, session, channel, changes[0], changes[1:])
    else:
        modes = channel.modes_for(session.user)
        ircd.reply(session, RPL_CHANNELMODEIS, channel.name, *modes, trailing=False)
        created = str(int(channel.created_at))
        ircd.reply(session, RPL_CREATIONTIME, channel.name, created, trailing=False)


def _user_mode(ircd: Ircd, session: Session, target: str, changes: list[str]) -> None:
    user = ircd.state.find_user(target)
    if user is None:
        raise no_such_nick(target)
    if user is not session.user:
        raise Refusal(ERR_USERSDONTMATCH, "Can't change mode for other users")
    if not any(changes):
        ircd.reply(session, RPL_UMODEIS, "+" + "".join(sorted(user.modes)), trailing=False)
        return
    effective = Effective()
    is_unknown = False
    for adding, letter in read_all_changes(changes[0], iter(changes[1:])):
        if letter not in USER_MODES:
            is_unknown = True
        elif adding and letter in GRANTED:
            continue
        elif (letter in user.modes) is not adding:
            ircd.state.set_user_mode(user, UserMode(letter), present=adding)
            effective.add(adding, letter)
    if effective.changes:
        update_kind(ircd, session)
        line = format_line("MODE", user.nick, effective.changes, source=user.mask)
        send_from(ircd, user, session, line)
        tell_user_modes(ircd, user)
    if is_unknown:
        raise Refusal(ERR_UMODEUNKNOWNFLAG, "Unknown MODE flag")


def tell_user_modes(ircd: Ircd, user: User) -> None:
    """Relay the user's modes to other hosts. Clients are not told the modes of others."""
    moment = Moment("", ircd.clock())
    ircd.record.add_for_links(moment, "UMODE", user, text="".join(sorted(user.modes)))
