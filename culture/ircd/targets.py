"""What a command is aimed at: lists of targets, and channels that must exist or be joined."""

from collections.abc import Callable

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal, need_more_params, no_such_channel, not_on_channel
from culture.ircd.session import Session
from culture.ircd.whereabouts import all_hosts
from culture.names import Folded, fold
from culture.protocol.masks import is_match
from culture.protocol.numerics import ERR_NOSUCHSERVER


def split_targets(text: str) -> list[str]:
    """`#a,#b,#A` names two channels: each target once, in order."""
    if "," not in text:
        return [text] if text else []
    targets: dict[Folded, str] = {}
    for target in text.split(","):
        if target:
            targets.setdefault(fold(target), target)
    return list(targets.values())


def for_each_target(
    ircd: Ircd, session: Session, command: str, targets: str, act: Callable[[Ircd, Session, str], None]
) -> None:
    """One target that is refused does not keep the others from being served."""
    wanted = split_targets(targets)
    if not wanted:
        raise need_more_params(command)
    for target in wanted:
        try:
            act(ircd, session, target)
        except Refusal as refusal:
            ircd.refuse(session, refusal)


def require_server(ircd: Ircd, name: str) -> None:
    """A question may name the server it is for: by a mask, or by the nick of somebody on it.

    What is the same on all of them can be answered for any.
    """
    if not name or ircd.state.find_user(name) is not None:
        return
    if not any(is_match(name, host) for host in all_hosts(ircd)):
        raise Refusal(ERR_NOSUCHSERVER, name, "No such server")


def require_this_server(ircd: Ircd, name: str) -> None:
    """As `require_server`, where only the server itself knows."""
    require_server(ircd, name)
    user = ircd.state.find_user(name)
    if name and not is_match(name, ircd.name) and (user is None or user.server):
        raise Refusal(ERR_NOSUCHSERVER, name, "Only answered on that server itself")


def require_channel(ircd: Ircd, name: str) -> Channel:
    channel = ircd.state.find_channel(name)
    if channel is None:
        raise no_such_channel(name)
    return channel


def require_membership(ircd: Ircd, session: Session, name: str) -> Channel:
    channel = require_channel(ircd, name)
    if session.user not in channel.members:
        raise not_on_channel(channel.name)
    return channel
