"""MODE: the modes of a channel, and of oneself."""

from culture.ircd.channel import FLAGS, STATUSES, Channel, Flag, Status
from culture.ircd.core import Ircd
from culture.ircd.events import ModesChanged
from culture.ircd.modes import MOST_PARAMETERS, Effective, read_changes
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick
from culture.ircd.session import Session
from culture.ircd.targets import require_channel
from culture.ircd.user import USER_MODES, UserMode
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import (
    ERR_CHANOPRIVSNEEDED,
    ERR_UMODEUNKNOWNFLAG,
    ERR_UNKNOWNMODE,
    ERR_USERNOTINCHANNEL,
    ERR_USERSDONTMATCH,
    RPL_CHANNELMODEIS,
    RPL_CREATIONTIME,
    RPL_ENDOFBANLIST,
    RPL_UMODEIS,
)


def mode(ircd: Ircd, session: Session, line: Line) -> None:
    target, *changes = line.params
    if not target.startswith("#"):
        _user_mode(ircd, session, target, changes[0] if changes else "")
        return
    channel = require_channel(ircd, target)
    if changes in (["b"], ["+b"]):
        # Clients ask for the list of bans when they join. There are none.
        ircd.reply(session, RPL_ENDOFBANLIST, channel.name, "End of channel ban list")
    elif changes:
        _change_channel(ircd, session, channel, changes[0], changes[1:])
    else:
        ircd.reply(session, RPL_CHANNELMODEIS, channel.name, channel.modes, trailing=False)
        created = str(int(channel.created_at))
        ircd.reply(session, RPL_CREATIONTIME, channel.name, created, trailing=False)


def _change_channel(ircd: Ircd, session: Session, channel: Channel, letters: str, params: list[str]) -> None:
    if not channel.is_operator(session.user):
        raise Refusal(ERR_CHANOPRIVSNEEDED, channel.name, "You're not channel operator")
    effective = Effective()
    waiting = iter(params[:MOST_PARAMETERS])
    held = _Held(channel)
    for adding, letter in read_changes(letters):
        try:
            if letter in FLAGS:
                _change_flag(held, effective, adding, Flag(letter))
            elif letter in STATUSES:
                _change_status(ircd, held, effective, adding, Status(letter), next(waiting, None))
            else:
                raise Refusal(ERR_UNKNOWNMODE, letter, "is unknown mode char to me")
        except Refusal as refusal:
            ircd.refuse(session, refusal)
    if effective.changes:
        changed = (effective.changes, tuple(effective.params))
        ircd.publish(ModesChanged(session.user, channel, *changed))


class _Held:
    """The channel as it will be, so that `+m-m` is told as what it does."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.flags = set(channel.flags)
        self.statuses = {user: set(held) for user, held in channel.members.items()}


def _change_flag(held: _Held, effective: Effective, adding: bool, flag: Flag) -> None:
    if (flag in held.flags) is not adding:
        held.flags ^= {flag}
        effective.add(adding, flag)


def _change_status(
    ircd: Ircd, held: _Held, effective: Effective, adding: bool, status: Status, nick: str | None
) -> None:
    if nick is None:
        raise need_more_params("MODE")
    user = ircd.state.find_user(nick)
    if user is None:
        raise no_such_nick(nick)
    if user not in held.statuses:
        raise Refusal(ERR_USERNOTINCHANNEL, user.nick, held.channel.name, "They aren't on that channel")
    if (status in held.statuses[user]) is not adding:
        held.statuses[user] ^= {status}
        effective.add(adding, status, user.nick)


def _user_mode(ircd: Ircd, session: Session, target: str, letters: str) -> None:
    user = ircd.state.find_user(target)
    if user is None:
        raise no_such_nick(target)
    if user is not session.user:
        raise Refusal(ERR_USERSDONTMATCH, "Can't change mode for other users")
    if not letters:
        ircd.reply(session, RPL_UMODEIS, "+" + "".join(sorted(user.modes)), trailing=False)
        return
    effective = Effective()
    is_unknown = False
    for adding, letter in read_changes(letters):
        if letter not in USER_MODES:
            is_unknown = True
        elif (letter in user.modes) is not adding:
            user.modes ^= {UserMode(letter)}
            effective.add(adding, letter)
    if effective.changes:
        ircd.send(session, format_line("MODE", user.nick, effective.changes, source=user.mask))
    if is_unknown:
        raise Refusal(ERR_UMODEUNKNOWNFLAG, "Unknown MODE flag")
