"""Find the problems of a fleet that are between several keys: names, links, and what a public host needs."""

from collections import Counter
from collections.abc import Iterator, Sequence

from culture.config.fleet.derive import dials, ircd_of
from culture.config.fleet.model import FleetConfig, FleetLinkConfig, HostConfig
from culture.config.loader import FieldProblem
from culture.names import has_prefix, host_key, nick_prefix


def find_problems(fleet: FleetConfig) -> list[FieldProblem]:
    """Return every problem, each at the key that has to change."""
    if not fleet.hosts:
        hint = "add a host: hosts: [{name: spark, address: '10.0.0.1:6690'}]"
        return [FieldProblem(("hosts",), "a fleet needs at least one host", hint)]
    problems = [*_names(fleet.hosts), *_links(fleet)]
    for number, host in enumerate(fleet.hosts):
        problems += [*_host(number, host), *_agents(number, host)]
    # What is derived from hosts and links makes sense only if those do.
    return problems or list(_derived(fleet))


def _names(hosts: Sequence[HostConfig]) -> Iterator[FieldProblem]:
    names: dict[str, int] = {}
    addresses: dict[str, int] = {}
    for number, host in enumerate(hosts):
        if (first := names.setdefault(host_key(host.name), number)) != number:
            what = f"hosts '{hosts[first].name}' and '{host.name}' have the same name before the first dot"
            hint = f"rename one of them: nicks of both would begin with '{nick_prefix(host.name)}'"
            yield FieldProblem(("hosts", number, "name"), what, hint)
        elif host.address and (first := addresses.setdefault(host.address, number)) != number:
            what = f"hosts '{hosts[first].name}' and '{host.name}' have the same address '{host.address}'"
            yield FieldProblem(("hosts", number, "address"), what, "give each host its own address")


def _host(number: int, host: HostConfig) -> Iterator[FieldProblem]:
    here = ("hosts", number)
    if host.ircd.name:
        what = f"'ircd.name' of host '{host.name}' is the host's own name"
        yield FieldProblem((*here, "ircd", "name"), what, "remove the key 'name' from 'ircd'")
    if host.ircd.links:
        what = f"'ircd.links' of host '{host.name}' come from the links of the fleet"
        yield FieldProblem((*here, "ircd", "links"), what, "say 'mesh: full', or use 'links' of the fleet")
    if host.all_agents.agents:
        what = f"'all_agents.agents' of host '{host.name}': agents are in 'agents' of the host"
        yield FieldProblem((*here, "all_agents", "agents"), what, "move them to 'agents' of the host")
    if host.all_agents.server.name:
        what = f"'all_agents.server.name' of host '{host.name}' is the host's own name"
        yield FieldProblem((*here, "all_agents", "server", "name"), what, "remove the key 'name'")
    if host.is_public and not host.has_tls:
        what = f"the public host '{host.name}' needs an address with TLS, and has '{host.address}'"
        yield FieldProblem((*here, "address"), what, "address: tls:HOST:6697")
    elif host.has_tls and not host.ircd.tls.certificate:
        what = f"host '{host.name}' has an address with TLS, and no certificate"
        yield FieldProblem(here, what, "ircd: {tls: {certificate: /etc/culture/host.pem}}")


def _agents(number: int, host: HostConfig) -> Iterator[FieldProblem]:
    prefix = nick_prefix(host.name)
    for index, agent in enumerate(host.agents):
        if not has_prefix(agent.nick, host.name):
            what = f"the nick '{agent.nick}' is on host '{host.name}' and does not begin with '{prefix}'"
            hint = f"nick: {prefix}{agent.nick.partition('-')[2]}, or move it to its own host"
            yield FieldProblem(("hosts", number, "agents", index, "nick"), what, hint)


def _links(fleet: FleetConfig) -> Iterator[FieldProblem]:
    names = [host.name for host in fleet.hosts]
    pairs = Counter(frozenset(link.hosts) for link in fleet.links)
    for number, link in enumerate(fleet.links):
        for end, name in enumerate(link.hosts):
            if name not in names:
                at = ("links", number, "hosts", end)
                yield FieldProblem(at, f"there is no host '{name}'", _hint_for(name, names))
        if pairs[frozenset(link.hosts)] > 1:
            pairs[frozenset(link.hosts)] = 1
            what = f"the link between '{link.hosts[0]}' and '{link.hosts[1]}' stands twice"
            yield FieldProblem(("links", number), what, "remove one of the two")
    if fleet.links or fleet.mesh == "full":
        yield from _pairs(fleet)
    elif len(fleet.hosts) > 1:
        what = f"{len(fleet.hosts)} hosts, and no links between them"
        yield FieldProblem(("hosts",), what, "mesh: full")


def _pairs(fleet: FleetConfig) -> Iterator[FieldProblem]:
    hosts = {host.name: host for host in fleet.hosts}
    secrets: dict[str, FleetLinkConfig] = {}
    for link in fleet.pairs():
        at = ("links", fleet.links.index(link)) if link in fleet.links else ("mesh",)
        if (other := secrets.setdefault(link.credential, link)) is not link and other.hosts != link.hosts:
            what = f"two links have the secret '{link.credential}': each link needs one of its own"
            yield FieldProblem(
                (*at, "secret_credential"), what, "remove 'secret_credential' from one of them"
            )
        one, two = (hosts.get(name) for name in link.hosts)
        if one is not None and two is not None and not dials(one, two) and not dials(two, one):
            what = f"neither '{one.name}' nor '{two.name}' can connect to the other"
            needs = two.name if one.is_public else one.name
            yield FieldProblem(at, what, f"give '{needs}' an address, such as 10.0.0.1:6690")


def _derived(fleet: FleetConfig) -> Iterator[FieldProblem]:
    """Find keys that contradict each other only once everything of a host is together."""
    for number, host in enumerate(fleet.hosts):
        try:
            ircd_of(fleet, host)
        except ValueError as error:
            hint = "put tls: in front of the address" if "readable" in str(error) else None
            yield FieldProblem(("hosts", number, "ircd"), f"host '{host.name}': {error}", hint)


def _hint_for(name: str, known: Sequence[str]) -> str:
    # Only somebody who mistyped a name waits for this import.
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    did_you_mean = f"did you mean '{close[0]}'? " if close else ""
    return f"{did_you_mean}hosts: {', '.join(known)}"
