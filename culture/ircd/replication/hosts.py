"""Find the host of a user, and the hosts of the network."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from culture.ircd.model.user import User
from culture.ircd.replication.links import ReachableHost
from culture.names import has_prefix

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def all_hosts(ircd: "Ircd") -> Mapping[str, ReachableHost]:
    """Return all reachable hosts by name, this one first."""
    this = ReachableHost(ircd.name, ircd.name, 0, ircd.config.description)
    others = ircd.links.hosts() if ircd.links is not None else ()
    return {host.name: host for host in (this, *others)}


def host_of(ircd: "Ircd", server: str, hosts: Mapping[str, ReachableHost]) -> ReachableHost:
    """Return the host that `User.server` names; one that is not reachable any more counts as one hop away."""
    name = server or ircd.name
    return hosts.get(name) or ReachableHost(name, ircd.name, 1, "")


def users_on(ircd: "Ircd", host: str) -> int:
    """Return the number of users on a host."""
    return ircd.state.users_here if host == ircd.name else len(ircd.state.remote_users.get(host, ()))


def home_of(ircd: "Ircd", user: User | None, nick: str) -> str:
    """Return the remote host of a user, or of a nick whose user is gone; empty for this host."""
    if user is not None:
        return user.server
    # A nick begins with the name of its host.
    return next((host for host in ircd.state.remote_users if has_prefix(nick, host)), "")
