"""The links in ircd.yaml: what is wrong with them is said, with what to do about it."""

import pytest

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError

PIN = "AB:" * 31 + "AB"


def problems(*links: str, rest: str = "") -> list[str]:
    text = rest + "links:\n" + "".join(f"  - {{{link}}}\n" for link in links)
    with pytest.raises(ConfigError) as refused:
        loader.parse(text, IrcdConfig, where="f.yaml")
    return [f"{problem.where}: {problem.what}" for problem in refused.value.problems]


def parsed(link: str) -> IrcdConfig:
    return loader.parse(f"links: [{{{link}}}]\n", IrcdConfig, where="f.yaml")


@pytest.mark.parametrize(
    "link",
    [
        "name: thor, secret_credential: thor",
        "name: thor, secret_credential: thor, address: '127.0.0.1:6667'",
        "name: thor, secret_credential: thor, address: '10.1.2.3:6667'",
        "name: thor, secret_credential: thor, address: 'thor.example.org:6667'",
        "name: thor, secret_credential: thor, address: 'unix:/run/thor.sock'",
        "name: thor, secret_credential: thor, address: '8.8.8.8:6667', insecure: true",
        f"name: thor, secret_credential: thor, address: 'tls:8.8.8.8:6697', fingerprint: '{PIN}'",
        "name: thor, secret_credential: thor, address: 'tls:thor.example.org:6697', ca: /etc/ca.pem",
        "name: thor, secret_credential: thor, accept_from: [unix, 10.0.0.7], channels: ['#ops']",
        "name: thor, secret_credential: x, plain_secret: true, address: '127.0.0.1:6667'",
        "name: thor, secret_credential: x, plain_secret: true, address: '[::1]:6667'",
        "name: thor, secret_credential: x, plain_secret: true, address: 'localhost:6667'",
        "name: thor, secret_credential: x, plain_secret: true, address: 'unix:/run/thor.sock'",
        "name: thor, secret_credential: x, plain_secret: true, address: 'tls:127.0.0.1:1', "
        f"fingerprint: '{PIN}'",
        f"name: thor, secret_credential: x, plain_secret: true, accept_fingerprint: '{PIN}'",
        "name: thor, secret_credential: x, plain_secret: true, accept_from: [unix, 127.0.0.0/8, '::1']",
    ],
)
def test_links_that_are_right(link: str):
    assert parsed(link).links[0].name == "thor"


@pytest.mark.parametrize(
    ("link", "what"),
    [
        ("name: thor", "missing key 'secret_credential'"),
        ("name: thor, secret_credential: ''", "is empty: links need a secret"),
        ("name: thor, secret_credential: a/b", "'a/b' is not the name of a credential"),
        ("name: th-or, secret_credential: x", "'th-or' is not a host name"),
        ("name: thor, secret_credential: x, address: thor", "'thor' is neither host:port nor unix:/path"),
        ("name: thor, secret_credential: x, address: 'ws:thor:80'", "links use no WebSocket"),
        ("name: thor, secret_credential: x, address: '8.8.8.8:6667'", "would be readable on the way"),
        ("name: thor, secret_credential: x, fingerprint: abc", "is not the SHA-256 of a certificate"),
        (f"name: thor, secret_credential: x, fingerprint: '{PIN}'", "needs an 'address' with tls: in front"),
        ("name: thor, secret_credential: x, address: 'a:1', ca: /x", "needs an 'address' with tls: in front"),
        ("name: thor, secret_credential: x, accept_from: [here]", "'here' is neither 'unix' nor a network"),
        ("name: thor, secret_credential: x, channels: [ops]", "'ops' is not a channel"),
        *(
            (f"name: thor, secret_credential: x, plain_secret: true{rest}", "where others can read it")
            for rest in (
                "",
                ", address: '10.0.0.7:6667'",
                ", address: '10.0.0.7:6667', insecure: true",
                ", address: 'thor:6667'",
                ", address: 'tls:thor:6697'",
                ", address: 'tls:thor:6697', ca: /etc/ca.pem",
                ", address: 'tls:127.0.0.1:6697'",
                f", address: '10.0.0.7:6667', accept_fingerprint: '{PIN}'",
                ", accept_from: [10.0.0.7]",
                ", accept_from: [unix, 10.0.0.7]",
            )
        ),
    ],
)
def test_links_that_are_wrong(link: str, what: str):
    (problem,) = problems(link)
    assert what in problem


def test_two_hosts_whose_nicks_would_begin_alike_are_refused():
    first, second = (f"name: {name}, secret_credential: x" for name in ("thor", "Thor.example.org"))
    assert problems(first, second) == ["f.yaml:2: 'links': 'thor' stands twice"]


def test_two_links_with_one_credential_are_refused():
    links = [f"name: {name}, secret_credential: {secret}" for name, secret in ("ax", "by", "cx")]
    assert problems(*links) == [
        "f.yaml:2: 'links': links 'a' and 'c' both have 'secret_credential: x': "
        "each link needs one of its own"
    ]


def test_a_host_that_is_linked_owns_its_nicks():
    (problem,) = problems("name: thor, secret_credential: x", rest="nick_policy: open\n")
    assert problem.endswith("'links' needs 'nick_policy: prefixed': a nick is of one host")
