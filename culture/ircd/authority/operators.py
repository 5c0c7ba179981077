"""Decide who becomes operator of a channel by joining it: people and guests, never agents."""

from culture.ircd.model.channel import Channel, Status
from culture.ircd.model.user import User
from culture.protocol.authority.senders import SenderKind


def becomes_operator(user: User, channel: Channel) -> bool:
    """Return whether a user becomes operator by joining a channel, which must not have one yet.

    As on any IRC server, the first one in does, except for agents and bots. If only these are in the channel,
    the first other user to join does. If guests are in it too, only a proven person does.
    """
    if user.is_agent or any(Status.OPERATOR in held for held in channel.members.values()):
        return False
    if all(member.is_agent for member in channel.members):
        return True
    # A member on a host that is out of reach may be operator.
    return user.kind is SenderKind.PERSON and not channel.torn
