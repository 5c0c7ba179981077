"""Read the files of a host into a fleet: the reverse of rendering."""

import dataclasses
from typing import Any, NamedTuple

from culture.config.address import TcpAddress, parse_endpoint
from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.config.links import LinkConfig, is_loopback
from culture.ctl.dump import as_data

# What a fleet says about links.
_KNOWN_KEYS = {"name", "secret_credential", "address", "fingerprint", "ca", "channels", "insecure"}


class Adopted(NamedTuple):
    """A fleet as the data of a YAML file, and what could not be taken over."""

    fleet: dict[str, Any]
    left_out: list[str]


def adopt(ircd: IrcdConfig, agents: AgentsConfig, *, name: str, machine: str, architecture: str) -> Adopted:
    """Return a fleet of this host and of the hosts that it is linked to.

    `name` is used if ircd.yaml has none. `machine` is how others reach this host, if ircd.yaml does not say.
    """
    name = ircd.name or name
    own = {"name": name, **_address(ircd, machine), "architecture": architecture}
    server = dataclasses.replace(ircd, name="", links=())
    common = dataclasses.replace(agents, agents=(), server=dataclasses.replace(agents.server, name=""))
    own |= {
        key: data
        for key, data in (
            ("ircd", as_data(server)),
            ("all_agents", as_data(common)),
            ("agents", as_data(agents.agents)),
        )
        if data
    }
    fleet: dict[str, Any] = {"hosts": [own, *map(_peer, ircd.links)]}
    if ircd.links:
        fleet["links"] = [_link(name, link) for link in ircd.links]
    return Adopted(fleet, [left for link in ircd.links for left in _left_out(link)])


def _address(ircd: IrcdConfig, machine: str) -> dict[str, str]:
    """Return where other hosts connect to the server; nothing if it listens only to this machine."""
    for text in ircd.listen:
        endpoint = parse_endpoint(text)
        if endpoint.carrier.is_websocket or not isinstance(endpoint.address, TcpAddress):
            continue
        if not is_loopback(endpoint.address.host):
            is_wildcard = endpoint.address.host in ("0.0.0.0", "::")
            host = machine if is_wildcard else endpoint.address.host
            tls = "tls:" if endpoint.carrier.is_tls else ""
            return {"address": f"{tls}{TcpAddress(host, endpoint.address.port)}"}
    return {}


def _peer(link: LinkConfig) -> dict[str, Any]:
    """Return what is known here of another host."""
    known = {"address": link.address, "fingerprint": link.fingerprint, "ca": link.ca}
    host: dict[str, Any] = {"name": link.name, **{key: value for key, value in known.items() if value}}
    if link.is_tls:
        # Where its certificate is, only the host itself knows.
        host["ircd"] = {"tls": {"certificate": f"/etc/culture/{link.name}.pem"}}
    return host


def _link(name: str, link: LinkConfig) -> dict[str, Any]:
    data: dict[str, Any] = {"hosts": [name, link.name], "secret_credential": link.secret_credential}
    if link.channels:
        data["channels"] = list(link.channels)
    if link.insecure:
        data["insecure"] = True
    return data


def _left_out(link: LinkConfig) -> list[str]:
    return [f"'{key}' of link '{link.name}'" for key in as_data(link) if key not in _KNOWN_KEYS]
