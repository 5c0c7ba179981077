"""Where on the network somebody is: on this host, or on which other one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from culture.ircd.links import Linked
from culture.ircd.user import User
from culture.names import has_prefix

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


def all_hosts(ircd: "Ircd") -> Mapping[str, Linked]:
    """By name, this one first."""
    this = Linked(ircd.name, ircd.name, 0, ircd.config.description)
    others = ircd.links.hosts() if ircd.links is not None else ()
    return {host.name: host for host in (this, *others)}


def host_of(ircd: "Ircd", server: str, hosts: Mapping[str, Linked]) -> Linked:
    """By what `User.server` says. A host that just went is as far away as any."""
    name = server or ircd.name
    return hosts.get(name) or Linked(name, ircd.name, 1, "")


def users_on(ircd: "Ircd", host: str) -> int:
    return ircd.state.users_here if host == ircd.name else len(ircd.state.guests.get(host, ()))


def home_of(ircd: "Ircd", user: User | None, nick: str) -> str:
    """The other host that somebody is on, or was, if they are gone; empty for this one."""
    if user is not None:
        return user.server
    # A nick begins with the name of its host.
    return next((host for host in ircd.state.guests if has_prefix(nick, host)), "")
