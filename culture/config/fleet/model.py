"""Model of `fleet.yaml`: the hosts of a fleet, the links between them, and the agents of each host."""

import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from culture.config.address import TcpAddress, parse_endpoint
from culture.config.agents import AgentConfig, AgentsConfig, check_unique_nicks
from culture.config.ircd import IrcdConfig
from culture.config.links import check_link_address
from culture.config.rules import checked, credential_name
from culture.names import is_host

_SSH: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_\[][A-Za-z0-9_.:\]-]*")


def _check_name(name: str) -> str | None:
    if is_host(name):
        return None
    return f"'{name}' is not a host name: a letter, then letters and digits, no dash before the first dot"


def _check_ssh(text: str) -> str | None:
    return None if not text or _SSH.fullmatch(text) else f"'{text}' is not [USER@]HOST"


def _check_pair(hosts: tuple[str, ...]) -> str | None:
    if len(hosts) != 2:
        return f"a link is between two hosts, and here are {len(hosts)}"
    return f"'{hosts[0]}' cannot be linked to itself" if hosts[0] == hosts[1] else None


@dataclass(frozen=True, slots=True)
class DefaultsConfig:
    """Keys that hosts have in common. They are merged into each host before the file is read."""

    ircd: Any = None
    all_agents: Any = None
    each_agent: Any = None


@dataclass(frozen=True, slots=True)
class FleetLinkConfig:
    """A link between two hosts of the fleet."""

    hosts: tuple[str, ...] = checked(_check_pair)
    # The name of the credential that holds the secret, on both hosts; empty: link-ONE-OTHER.
    secret_credential: str = checked(credential_name, default="")
    # Empty: all channels that are not local.
    channels: tuple[str, ...] = ()
    # Whether the link may be readable on the way.
    insecure: bool = False

    @property
    def credential(self) -> str:
        """Return the name of the credential that both hosts load."""
        return self.secret_credential or f"link-{'-'.join(sorted(self.hosts))}"


@dataclass(frozen=True, slots=True)
class HostConfig:
    """One host of the fleet."""

    name: str = checked(_check_name)
    # Where other hosts connect to its server: host:port, or tls:host:port; empty: it only connects to others.
    address: str = checked(check_link_address, default="")
    architecture: Literal["amd64", "arm64"] = "amd64"
    # public: accounts are required, and other hosts connect to it, never the other way round.
    roles: tuple[Literal["public"], ...] = ()
    # How `culturectl deploy` reaches it: [USER@]HOST; empty: root at the host of `address`.
    ssh: str = checked(_check_ssh, default="")
    # How other hosts verify its certificate; neither: by an authority that they know.
    fingerprint: str = ""
    ca: str = ""
    # The keys of ircd.yaml, without `name` and `links`.
    ircd: IrcdConfig = field(default_factory=IrcdConfig)
    # The keys of agents.yaml, without `agents`.
    all_agents: AgentsConfig = field(default_factory=AgentsConfig)
    agents: tuple[AgentConfig, ...] = checked(check_unique_nicks, default=())

    def __post_init__(self) -> None:
        if (self.fingerprint or self.ca) and not self.has_tls:
            key = "fingerprint" if self.fingerprint else "ca"
            raise ValueError(f"'{key}' of host '{self.name}' needs an 'address' with tls: in front")

    @property
    def is_public(self) -> bool:
        """Return whether people reach this host over the open internet."""
        return "public" in self.roles

    @property
    def has_tls(self) -> bool:
        """Return whether other hosts connect to it with TLS."""
        return bool(self.address) and parse_endpoint(self.address).carrier.is_tls

    @property
    def machine(self) -> str:
        """Return the name or IP address in `address`; empty if it has none."""
        address = parse_endpoint(self.address).address if self.address else None
        return address.host if isinstance(address, TcpAddress) else ""

    @property
    def ssh_target(self) -> str:
        """Return how ssh reaches the host."""
        return self.ssh or f"root@{self.machine or self.name}"


@dataclass(frozen=True, slots=True)
class FleetConfig:
    hosts: tuple[HostConfig, ...] = ()
    # full: every host is linked to every other. links: only the hosts in `links` are.
    mesh: Literal["full", "links"] = "links"
    # With `mesh: full`, only links that differ from the others need to be here.
    links: tuple[FleetLinkConfig, ...] = ()
    defaults: DefaultsConfig = field(default_factory=DefaultsConfig)

    def pairs(self) -> list[FleetLinkConfig]:
        """Return every link of the fleet, once."""
        if self.mesh == "links":
            return list(self.links)
        named = {frozenset(link.hosts): link for link in self.links}
        names = [host.name for host in self.hosts]
        pairs = itertools.combinations(names, 2)
        return [named.get(frozenset(pair)) or FleetLinkConfig(hosts=pair) for pair in pairs]
