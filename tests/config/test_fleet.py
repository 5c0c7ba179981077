"""A fleet file describes all hosts; every mistake in it is reported with file, line, reason and hint."""

from pathlib import Path

import pytest

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.config.fleet import files
from culture.config.fleet.derive import agents_of, ircd_of
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.config.ircd import IrcdConfig
from culture.config.links import LinkConfig
from culture.ctl.dump import as_data
from culture.errors import ConfigError, Problem

ROOT = Path(__file__).resolve().parents[2]
TWO_HOSTS = """\
mesh: full
hosts:
  - name: spark
    address: 10.0.0.1:6690
    agents:
      - nick: spark-claude
        channels: ["#general"]
  - name: thor
    address: 10.0.0.2:6690
"""


def parse(text: str) -> FleetConfig:
    return files.parse(text, where="fleet.yaml")


def host(fleet: FleetConfig, name: str) -> HostConfig:
    return next(each for each in fleet.hosts if each.name == name)


def links(fleet: FleetConfig, name: str) -> dict[str, LinkConfig]:
    return {link.name: link for link in ircd_of(fleet, host(fleet, name)).links}


def problems(text: str) -> list[Problem]:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    return list(refused.value.problems)


def test_the_example_is_valid_and_links_every_pair_of_hosts_once():
    fleet = files.load(ROOT / "skel/fleet/fleet.yaml")

    assert [each.name for each in fleet.hosts] == ["spark", "thor", "orin", "ec2"]
    assert len(fleet.pairs()) == 6
    for each in fleet.hosts:
        assert {*links(fleet, each.name), each.name} == {"spark", "thor", "orin", "ec2"}


def test_both_hosts_of_a_link_have_the_same_secret_and_no_two_links_do():
    fleet = files.load(ROOT / "skel/fleet/fleet.yaml")

    secrets = {
        (each.name, peer): link.secret_credential
        for each in fleet.hosts
        for peer, link in links(fleet, each.name).items()
    }
    assert all(secrets[one, two] == secrets[two, one] for one, two in secrets)
    assert len(set(secrets.values())) == 6


def test_other_hosts_connect_to_a_public_host_and_it_connects_to_none():
    fleet = files.load(ROOT / "skel/fleet/fleet.yaml")

    assert [link.address for link in links(fleet, "ec2").values()] == ["", "", ""]
    assert links(fleet, "spark")["ec2"].address == "tls:irc.example.org:6697"
    assert links(fleet, "spark")["ec2"].leads_to == ()
    ec2 = ircd_of(fleet, host(fleet, "ec2"))
    assert ec2.accounts.required
    assert ec2.listen == ("127.0.0.1:6667", "tls:0.0.0.0:6697")


def test_only_the_links_that_are_listed_are_made():
    text = TWO_HOSTS.replace("mesh: full", "links: [{hosts: [thor, spark], secret_credential: sesame}]")
    fleet = parse(text + "  - name: orin\n")

    assert links(fleet, "spark")["thor"].secret_credential == "sesame"
    assert links(fleet, "orin") == {}


def test_a_listed_link_of_a_full_mesh_replaces_the_one_that_would_be_made():
    fleet = parse(TWO_HOSTS + "links: [{hosts: [thor, spark], channels: ['#ops']}]\n")

    assert links(fleet, "spark")["thor"].channels == ("#ops",)
    assert links(fleet, "thor")["spark"].channels == ("#ops",)


def test_defaults_are_merged_key_by_key_and_a_host_or_agent_has_the_last_word():
    fleet = parse(
        "defaults:\n"
        "  ircd: {limits: {clients: 50, targets: 2}}\n"
        "  all_agents: {turns: {crashes: 7, expiry_s: 60}}\n"
        "  each_agent: {model: opus, channels: ['#ops']}\n"
        "hosts:\n"
        "  - name: spark\n"
        "    ircd: {limits: {targets: 8}}\n"
        "    all_agents: {turns: {expiry_s: 86400}}\n"
        "    agents:\n"
        "      - {nick: spark-a}\n"
        "      - {nick: spark-b, channels: ['#general']}\n"
    )

    spark = host(fleet, "spark")
    limits = ircd_of(fleet, spark).limits
    # 8 and 86400 are the defaults of the models, and still hide what the fleet has as default.
    assert (limits.clients, limits.targets) == (50, 8)
    assert (agents_of(spark).turns.crashes, agents_of(spark).turns.expiry_s) == (7, 86400.0)
    assert [(agent.model, agent.channels) for agent in agents_of(spark).agents] == [
        ("opus", ("#ops",)),
        ("opus", ("#general",)),
    ]


def test_a_mistake_in_the_defaults_is_reported_once_where_it_stands():
    text = TWO_HOSTS + "defaults:\n  ircd: {limts: {}}\n  each_agent:\n    modle: opus\n"
    text = text.replace("  - name: thor\n", "      - nick: spark-codex\n  - name: thor\n")

    found = problems(text)

    assert [(each.where, each.what) for each in found] == [
        ("fleet.yaml:14", "unknown key 'modle' in 'defaults.each_agent'"),
        ("fleet.yaml:12", "unknown key 'limts' in 'defaults.ircd'"),
    ]


def test_every_mistake_is_reported_at_once():
    text = TWO_HOSTS.replace("full", "ring").replace("- nick", "- nik").replace("10.0.0.2:6690", "10.0.0.2")

    assert [each.where for each in problems(text)] == [
        "fleet.yaml:1",
        "fleet.yaml:6",
        "fleet.yaml:6",
        "fleet.yaml:9",
    ]


# What a newcomer may type instead of something in TWO_HOSTS: the line of the mistake, and words of the reason
# and the hint.
MISTAKES = {
    "an empty file": ("", "", 0, "at least one host", "hosts: [{name: spark"),
    "a tab": ("    address: 10.0.0.1", "\taddress: 10.0.0.1", 4, "not valid YAML", "culture-fleet.yaml"),
    "an unclosed quote": ('["#general"]', '["#general]', 10, "not valid YAML", "culture-fleet.yaml"),
    "a channel without quotes": ('["#general"]', "#general", 7, "expected a list, found nothing", "man"),
    "a list instead of keys": ("hosts:\n", "hosts: [spark, thor]\nlinks:\n", 2, "expected keys", "man"),
    "keys instead of a list": ("agents:\n      - nick", "agents:\n        nick", 6, "expected a list", "man"),
    "a mistyped key": ("hosts:", "host:", 2, "unknown key 'host'", "did you mean 'hosts'?"),
    "a mistyped key of a host": ("address: 10.0.0.1", "adress: 10.0.0.1", 4, "'adress'", "'address'?"),
    "a mistyped key of an agent": ("channels:", "chanels:", 7, "unknown key 'chanels'", "'channels'?"),
    "a host without a name": ("name: thor\n    ", "", 8, "missing key 'name'", "man culture-fleet.yaml"),
    "an agent without a nick": ("nick: spark-claude\n        ", "", 6, "missing key 'nick'", "man"),
    "a mesh that does not exist": ("mesh: full", "mesh: ring", 1, "one of full, links", "man"),
    "an architecture by another name": ("10.0.0.2:6690", "10.0.0.2:6690\n    architecture: aarch64", 10,
                                        "one of amd64, arm64", "man"),
    "a role that does not exist": ("10.0.0.2:6690", "10.0.0.2:6690\n    roles: [relay]", 10, "public", "man"),
    "a role that is not a list": ("10.0.0.2:6690", "10.0.0.2:6690\n    roles: public", 10, "a list", "man"),
    "a dash in the name of a host": ("name: thor", "name: jetson-thor", 8, "no dash", "man"),
    "two hosts with one name": ("name: thor", "name: spark", 8, "the same name", "rename one of them"),
    "two names that differ after a dot": ("name: thor", "name: spark.lan", 8, "the same name", "'spark-'"),
    "two hosts with one address": ("10.0.0.2", "10.0.0.1", 9, "the same address", "its own address"),
    "an address without a port": ("10.0.0.2:6690", "10.0.0.2", 9, "neither host:port", "man"),
    "a port that does not exist": ("10.0.0.2:6690", "10.0.0.2:66900", 9, "neither host:port", "man"),
    "a nick without its host": ("nick: spark-claude", "nick: claude", 6, "not <host>-<name>", "man"),
    "a nick of another host": ("nick: spark-claude", "nick: thor-claude", 6, "does not begin with 'spark-'",
                               "nick: spark-claude"),
    "a nick that is too long": ("spark-claude", "spark-" + "c" * 30, 6, "longer than 23", "man"),
    "one nick twice": ("  - name: thor", "      - nick: spark-claude\n  - name: thor", 6, "twice", "man"),
    "a backend that does not exist": ("channels:", "agent: gemini\n        channels:", 7,
        "one of claude", "man"),
    "a link to an unknown host": ("mesh: full", "links: [{hosts: [spark, tor]}]", 1, "no host 'tor'",
                                  "did you mean 'thor'?"),
    "a link of three hosts": ("mesh: full", "links: [{hosts: [spark, thor, orin]}]", 1, "here are 3", "man"),
    "a link of a host to itself": ("mesh: full", "links: [{hosts: [thor, thor]}]", 1, "to itself", "man"),
    "one link twice": ("mesh: full", "links:\n- {hosts: [spark, thor]}\n- {hosts: [thor, spark]}", 2,
                       "stands twice", "remove one"),
    "hosts without links": ("mesh: full\n", "", 2, "no links between them", "mesh: full"),
    "two hosts that nobody can reach": ("    address: 10.0.0.2:6690\n", "  - name: orin\n", 1,
                                        "neither 'thor' nor 'orin'", "give 'thor' an address"),
    "a public host without TLS": ("10.0.0.2:6690", "8.8.8.8:6690\n    roles: [public]", 9, "with TLS",
                                  "address: tls:HOST:6697"),
    "TLS without a certificate": ("10.0.0.2:6690", "tls:thor.lan:6697", 8, "no certificate", "certificate:"),
    "a readable link over the internet": ("10.0.0.2:6690", "8.8.8.8:6690", 3, "readable on the way", "tls:"),
    "a name of the server": ("    agents:", "    ircd: {name: spark}\n    agents:", 5, "own name", "remove"),
    "links of the server": ("    agents:",
        "    ircd:\n      links: [{name: thor, secret_credential: x}]\n    agents:",
        6, "links of the fleet", "mesh: full"),
    "a secret in the file": ("mesh: full", "links: [{hosts: [spark, thor], secret: x}]", 1,
        "'secret'", "known keys"),
    "something ssh cannot reach": ("10.0.0.2:6690", "10.0.0.2:6690\n    ssh: -oProxyCommand=x", 10,
        "HOST", "man"),
    "a fingerprint without TLS": ("10.0.0.2:6690", "10.0.0.2:6690\n    fingerprint: ab", 8, "tls:", "man"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_file_line_reason_and_hint(mistake: str):
    typed, instead, line, reason, hint = MISTAKES[mistake]
    text = TWO_HOSTS.replace(typed, instead, 1) if typed else instead

    found = problems(text)

    where = f"fleet.yaml:{line}" if line else "fleet.yaml"
    about = [each for each in found if reason in each.what]
    assert about, found
    assert about[0].where == where
    assert hint in (about[0].hint or "")
    assert all(each.hint for each in found)


def test_what_is_dumped_loads_as_the_same_model_and_leaves_out_defaults():
    fleet = files.load(ROOT / "skel/fleet/fleet.yaml")
    for each in fleet.hosts:
        ircd, agents = ircd_of(fleet, each), agents_of(each)
        assert loader.parse(str(as_data(ircd)), IrcdConfig, where="x") == ircd
        assert loader.parse(str(as_data(agents)), AgentsConfig, where="x") == agents
    assert as_data(IrcdConfig()) == {}
