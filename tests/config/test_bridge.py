"""bridge.yaml is strict."""

import pytest

from culture.config import loader
from culture.config.address import TcpAddress, UnixAddress
from culture.config.bridge import BridgeConfig, check_exposure
from culture.errors import ConfigError

HASH = "a" * 64
CLIENT = f"clients: [{{name: ori, nick: spark-ori, token_sha256: {HASH}}}]\n"


def parse(text: str) -> BridgeConfig:
    return loader.parse(text, BridgeConfig, where="bridge.yaml")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("clients: [{name: ori, nick: spark-ori}]", "client 'ori' needs 'token_sha256' or 'subject'"),
        (f"clients: [{{name: ori, nick: 9x, token_sha256: {HASH}}}]", "'9x' is not a nick"),
        ("clients: [{name: ori, nick: x, token_sha256: secret}]", "is not the SHA-256 of a token"),
        ("clients: [{name: a, nick: x, subject: s}, {name: a, nick: y, subject: t}]", "'a' stands twice"),
        ("clients: [{name: a, nick: x, subject: s}, {name: b, nick: y, subject: s}]", "'s' stands twice"),
        (
            f"clients: [{{name: a, nick: x, token_sha256: {HASH}}}, "
            f"{{name: b, nick: y, token_sha256: {HASH}}}]",
            "two clients have the same token",
        ),
        ("clients: [{name: a b, nick: x, subject: s}]", "'a b' is not a name"),
        ("channels: [ops]", "'ops' is not a channel"),
        ("url: http://culture.example/mcp", "is neither https"),
        ("url: https://culture.example/", "does not end with /mcp"),
        ("trusted_proxies: [proxy]", "'proxy' is not a network"),
        ("listen: []", "'url' has to be set"),
        ("tokens: {}", "unknown key 'tokens'"),
        (
            "oauth: {keys_file: /k, issuer: https://id.example, audience: culture}",
            "'oauth.audience' must be the URL of the bridge, http://127.0.0.1:8090/mcp",
        ),
    ],
)
def test_a_mistake_is_told(text: str, what: str):
    with pytest.raises(ConfigError, match=r"bridge\.yaml:1") as caught:
        parse(text)
    assert what in str(caught.value)


def test_the_url_follows_from_the_first_address():
    assert BridgeConfig().public_url == "http://127.0.0.1:8090/mcp"
    assert parse('listen: ["[::1]:80"]').public_url == "http://[::1]:80/mcp"
    assert parse("tls: {certificate: /c}").public_url == "https://127.0.0.1:8090/mcp"
    assert parse("url: https://culture.example/mcp").public_url == "https://culture.example/mcp"


def test_its_nick_begins_with_the_name_of_the_server():
    assert BridgeConfig().own_nick == "bridge"
    assert parse("server: {name: spark}").own_nick == "spark-bridge"


def test_only_addresses_of_this_machine_need_no_protection():
    own = [TcpAddress("127.0.0.1", 1), TcpAddress("::1", 1), TcpAddress("localhost", 1), UnixAddress("/x")]
    check_exposure(parse(CLIENT), own, "bridge.yaml")
    for host in ("0.0.0.0", "::", "10.0.0.1", "spark.example"):
        with pytest.raises(ConfigError, match="would travel unencrypted"):
            check_exposure(parse(CLIENT), [TcpAddress(host, 1)], "bridge.yaml")
        for protection in ("tls: {certificate: /c}\n", "trusted_proxies: [10.0.0.5/32]\n"):
            check_exposure(parse(CLIENT + protection), [TcpAddress(host, 1)], "bridge.yaml")
    with pytest.raises(ConfigError, match="no clients are configured"):
        check_exposure(BridgeConfig(), own, "bridge.yaml")
