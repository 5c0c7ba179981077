"""Leading clients to TLS (IRCv3 sts)."""

import pytest
from support.network import Network

from culture.config.ircd import Sts


def told(network: Network, version: str = "302", *, is_secure: bool = False, is_local: bool = False) -> str:
    client = network.connect("192.0.2.1")
    client.session.is_secure, client.session.is_local = is_secure, is_local
    client.send(f"CAP LS {version}".strip())
    words = " ".join(client.lines()).replace(" :", " ").split()
    return next((word for word in words if word.startswith("sts")), "")


@pytest.mark.parametrize(
    ("is_secure", "is_local", "policy"),
    [(False, False, "sts=port=6697"), (True, False, "sts=duration=600"), (False, True, ""), (True, True, "")],
)
def test_who_comes_in_the_clear_learns_the_port_and_who_comes_by_tls_the_duration(
    is_secure: bool, is_local: bool, policy: str
):
    network = Network(sts=Sts(port=6697, duration_s=600))
    assert told(network, is_secure=is_secure, is_local=is_local) == policy


def test_it_is_told_only_if_configured_and_to_who_understands_values():
    assert told(Network()) == ""
    assert told(Network(sts=Sts(port=6697)), version="") == ""


def test_it_cannot_be_asked_for():
    client = Network(sts=Sts(port=6697)).connect()
    client.send("CAP REQ sts")
    assert client.lines() == [":spark CAP * NAK :sts"]
