"""Derive what ircd.yaml and agents.yaml say on one host of a fleet."""

import dataclasses
import ipaddress
from collections.abc import Iterator
from typing import Final

from culture.config.address import TcpAddress, parse_endpoint
from culture.config.agents import AgentsConfig
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.config.ircd import IrcdConfig
from culture.config.links import ANY_HOST, LinkConfig

DEFAULT_LISTEN: Final = IrcdConfig().listen


def links_of(fleet: FleetConfig, host: HostConfig) -> Iterator[LinkConfig]:
    """Return the links of one host as its ircd.yaml has them.

    Raises ValueError if a link would be readable on the way.
    """
    hosts = {each.name: each for each in fleet.hosts}
    for link in fleet.pairs():
        if host.name in link.hosts:
            peer = hosts[link.hosts[1] if link.hosts[0] == host.name else link.hosts[0]]
            is_dialed = dials(host, peer)
            yield LinkConfig(
                name=peer.name,
                secret_credential=link.credential,
                address=peer.address if is_dialed else "",
                fingerprint=peer.fingerprint if is_dialed else "",
                ca=peer.ca if is_dialed else "",
                channels=link.channels,
                # Everyone is linked to everyone, so the most exposed host need not speak for others.
                leads_to=() if peer.is_public and fleet.mesh == "full" else (ANY_HOST,),
                insecure=link.insecure,
            )


def dials(host: HostConfig, peer: HostConfig) -> bool:
    """Return whether a host connects to a peer: a public host connects only to other public hosts."""
    return bool(peer.address) and (peer.is_public or not host.is_public)


def ircd_of(fleet: FleetConfig, host: HostConfig) -> IrcdConfig:
    """Return what ircd.yaml says on a host. Raises ValueError if keys contradict each other."""
    ircd = host.ircd
    accounts = dataclasses.replace(ircd.accounts, required=True) if host.is_public else ircd.accounts
    listen = ircd.listen
    if host.address and listen == DEFAULT_LISTEN:
        listen = (*DEFAULT_LISTEN, _listener(host))
    links = tuple(links_of(fleet, host))
    return dataclasses.replace(ircd, name=host.name, listen=listen, accounts=accounts, links=links)


def agents_of(host: HostConfig) -> AgentsConfig:
    """Return what agents.yaml says on a host."""
    server = dataclasses.replace(host.all_agents.server, name=host.name)
    return dataclasses.replace(host.all_agents, server=server, agents=host.agents)


def _listener(host: HostConfig) -> str:
    """Return where the server listens for others: on its own IP address, or on all if that is not known.

    A public host often has its public address only outside, as on EC2.
    """
    endpoint = parse_endpoint(host.address)
    carrier = "tls:" if endpoint.carrier.is_tls else ""
    if not isinstance(endpoint.address, TcpAddress):
        return f"{carrier}{endpoint.address}"
    own = "0.0.0.0" if host.is_public or not _is_ip(endpoint.address.host) else endpoint.address.host
    return f"{carrier}{TcpAddress(own, endpoint.address.port)}"


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
