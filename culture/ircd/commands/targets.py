"""Parse and check the targets of commands: target lists, servers and channels."""

from collections.abc import Callable, Sequence
from typing import Final

from culture.config.ircd import Limits
from culture.ircd.model.channel import Channel
from culture.ircd.refusal import Refusal, need_more_params, no_such_channel, not_on_channel
from culture.ircd.replication.hosts import all_hosts
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import Steps
from culture.names import Folded, fold
from culture.protocol.masks import is_match
from culture.protocol.numerics import ERR_NOSUCHSERVER, ERR_TOOMANYTARGETS


def split_targets(text: str) -> list[str]:
    """Split a comma-separated list into targets, each once and in order: `#a,#b,#A` has two."""
    if "," not in text:
        return [text] if text else []
    targets: dict[Folded, str] = {}
    for target in text.split(","):
        if target:
            targets.setdefault(fold(target), target)
    return list(targets.values())


def for_each_target(
    ircd: Ircd, session: Session, command: str, targets: str, act: Callable[[Ircd, Session, str], None]
) -> Steps:
    """Call `act` for each target, one per step. The refusal of one target does not stop the others."""
    wanted = split_targets(targets)
    if not wanted:
        raise need_more_params(command)
    check_number(command, wanted, ircd.limits)
    for target in wanted:
        try:
            act(ircd, session, target)
        except Refusal as refusal:
            ircd.refuse(session, refusal)
        yield


# Commands whose targets are bounded by `limits.targets`: each target is a message or several replies.
_FEW: Final = frozenset({"NOTICE", "PRIVMSG", "TAGMSG", "WHOIS", "WHOWAS"})
# Commands that may name as many targets as a client may be in channels: clients join all theirs in one line.
_MANY: Final = frozenset({"JOIN", "KICK", "LIST", "NAMES", "PART"})


def check_number(command: str, targets: Sequence[str], limits: Limits) -> None:
    """Refuse the whole line if it has too many targets."""
    if 0 < (most := most_targets(command, limits)) < len(targets):
        raise Refusal(ERR_TOOMANYTARGETS, targets[most], f"Too many targets: at most {most} in one line")


def most_targets(command: str, limits: Limits) -> int:
    """Return how many targets a command may have; 0 means any number."""
    if command in _FEW:
        return limits.targets
    return limits.channels_per_client if command in _MANY else 0


def target_limits(limits: Limits) -> str:
    """Return the value of the ISUPPORT token TARGMAX."""
    bounds = {command: most_targets(command, limits) or "" for command in sorted({*_FEW, *_MANY, "MONITOR"})}
    return ",".join(f"{command}:{bound}" for command, bound in bounds.items())


def require_server(ircd: Ircd, name: str) -> None:
    """Refuse a query for an unknown server, named by a mask or by the nick of a user on it.

    Use it for queries whose answer is the same on all servers.
    """
    if not name or ircd.state.find_user(name) is not None:
        return
    if not any(is_match(name, host) for host in all_hosts(ircd)):
        raise Refusal(ERR_NOSUCHSERVER, name, "No such server")


def require_this_server(ircd: Ircd, name: str) -> None:
    """Refuse a query that only another server can answer."""
    require_server(ircd, name)
    user = ircd.state.find_user(name)
    if name and not is_match(name, ircd.name) and (user is None or user.server):
        raise Refusal(ERR_NOSUCHSERVER, name, "Only answered on that server itself")


def require_channel(ircd: Ircd, session: Session, name: str) -> Channel:
    """Return an existing channel; a secret one only to its members."""
    channel = ircd.state.find_channel(name)
    if channel is None or not channel.is_visible_to(session.user):
        raise no_such_channel(name)
    return channel


def require_membership(ircd: Ircd, session: Session, name: str) -> Channel:
    """Return a channel that the client is a member of."""
    channel = require_channel(ircd, session, name)
    if session.user not in channel.members:
        raise not_on_channel(channel.name)
    return channel
