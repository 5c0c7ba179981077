"""INVITE and KICK: invite users to a channel and remove them from it."""

from culture.ircd.commands.targets import check_number, for_each_target, require_membership
from culture.ircd.delivery.text import cut
from culture.ircd.events import Invited, Kicked
from culture.ircd.model.channel import RANKS, Flag, Status
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick, not_channel_operator
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import Steps
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_USERNOTINCHANNEL,
    ERR_USERONCHANNEL,
    RPL_AWAY,
    RPL_ENDOFINVITELIST,
    RPL_INVITELIST,
    RPL_INVITING,
)


def invite(ircd: Ircd, session: Session, line: Line) -> None:
    """Invite a user to a channel, or list the invitations of the client."""
    if not line.params:
        _send_invites(ircd, session)
        return
    if len(line.params) == 1:
        raise need_more_params("INVITE")
    user = ircd.state.find_user(line.param(0))
    if user is None:
        raise no_such_nick(line.param(0))
    channel = require_membership(ircd, session, line.param(1))
    if user in channel.members:
        raise Refusal(ERR_USERONCHANNEL, user.nick, channel.name, "is already on channel")
    if Flag.INVITE_ONLY in channel.flags and not channel.may_moderate(session.user):
        raise not_channel_operator(channel.name)
    ircd.publish(Invited(session.user, channel, user))
    ircd.reply(session, RPL_INVITING, user.nick, channel.name, trailing=False)
    if user.away is not None:
        ircd.reply(session, RPL_AWAY, user.nick, user.away)


def _send_invites(ircd: Ircd, session: Session) -> None:
    for channel in session.user.invites:
        if ircd.state.find_channel(channel.name) is channel:
            ircd.reply(session, RPL_INVITELIST, channel.name, trailing=False)
    ircd.reply(session, RPL_ENDOFINVITELIST, "End of /INVITE list")


def kick(ircd: Ircd, session: Session, line: Line) -> Steps:
    """Kick several users from one channel, one from several, or one from each (RFC 2812 section 3.2.8)."""
    names, nicks = line.param(0).split(","), line.param(1).split(",")
    reason = cut(line.param(2), ircd.limits.kick_length) or session.user.nick
    if len(names) == 1:
        yield from _kick_from(ircd, session, names[0], line.param(1), reason)
        return
    if len(nicks) == 1:
        nicks *= len(names)
    if len(names) != len(nicks):
        raise need_more_params("KICK")
    check_number("KICK", names, ircd.limits)
    for name, nick in zip(names, nicks, strict=True):
        try:
            yield from _kick_from(ircd, session, name, nick, reason)
        except Refusal as refusal:
            ircd.refuse(session, refusal)


def _kick_from(ircd: Ircd, session: Session, name: str, nicks: str, reason: str) -> Steps:
    kicker = session.user
    channel = require_membership(ircd, session, name)
    if not channel.may_moderate(kicker):
        raise not_channel_operator(channel.name)

    def kick_one(ircd: Ircd, session: Session, nick: str) -> None:
        user = ircd.state.find_user(nick)
        if user is None:
            raise no_such_nick(nick)
        if user not in channel.members:
            raise Refusal(ERR_USERNOTINCHANNEL, user.nick, channel.name, "They aren't on that channel")
        if not _may_kick(channel.rank(kicker), channel.rank(user)):
            raise not_channel_operator(channel.name)
        ircd.publish(Kicked(kicker, channel, user, reason))

    yield from for_each_target(ircd, session, "KICK", nicks, kick_one)


def _may_kick(kicker: int, kicked: int) -> bool:
    """Return whether ranks allow the kick: operators kick anyone, half-operators lower ranks."""
    return kicker == RANKS[Status.OPERATOR] or kicker > kicked
