"""What a command is aimed at: lists of targets, and channels that must exist or be joined."""

from collections.abc import Callable

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal, no_such_channel
from culture.ircd.session import Session
from culture.names import Folded, fold
from culture.protocol.numerics import ERR_NOTONCHANNEL


def split_targets(text: str) -> list[str]:
    """`#a,#b,#A` names two channels: each target once, in order."""
    targets: dict[Folded, str] = {}
    for target in text.split(","):
        if target:
            targets.setdefault(fold(target), target)
    return list(targets.values())


def for_each_target(
    ircd: Ircd, session: Session, targets: str, act: Callable[[Ircd, Session, str], None]
) -> None:
    """One target that is refused does not keep the others from being served."""
    for target in split_targets(targets):
        try:
            act(ircd, session, target)
        except Refusal as refusal:
            ircd.refuse(session, refusal)


def require_channel(ircd: Ircd, name: str) -> Channel:
    channel = ircd.state.find_channel(name)
    if channel is None:
        raise no_such_channel(name)
    return channel


def require_membership(ircd: Ircd, session: Session, name: str) -> Channel:
    channel = require_channel(ircd, name)
    if session.user not in channel.members:
        raise Refusal(ERR_NOTONCHANNEL, channel.name, "You're not on that channel")
    return channel
