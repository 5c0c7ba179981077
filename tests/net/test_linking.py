"""Links as they are configured, and what operators learn of them."""

import json
from pathlib import Path

import pytest
from support.network import Network

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError
from culture.federation.ports import Peer, Settings
from culture.net.driver import Driver
from culture.net.linking import open_links, peers_of, settings_of
from culture.skills.history.log import NoLog


def config(*links: str, rest: str = "") -> IrcdConfig:
    text = (
        rest
        + ("links:\n" if links else "")
        + "".join(f"  - {{secret_credential: link, {link}}}\n" for link in links)
    )
    return loader.parse(text, IrcdConfig, where="f.yaml")


def test_peers_have_what_the_configuration_says(tmp_path: Path):
    (tmp_path / "link").write_text("sesame\n")
    found = peers_of(
        config(
            "name: thor",
            "name: orin, address: '127.0.0.1:1', channels: ['#A']",
            "name: ec2, address: '127.0.0.1:1', autoconnect: false",
            f"name: nano, accept_from: [10.0.0.7], accept_fingerprint: '{'AB:' * 31}AB'",
        ),
        {"CREDENTIALS_DIRECTORY": str(tmp_path)},
    )
    assert [*found.values()] == [
        Peer("thor", "sesame"),
        Peer("orin", "sesame", frozenset({"#a"}), has_address=True, is_dialed=True),
        Peer("ec2", "sesame", has_address=True),
        Peer("nano", "sesame", accept_from=("10.0.0.7",), accept_fingerprint="ab" * 32),
    ]


def test_a_secret_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="credential 'link'"):
        peers_of(config("name: thor"), {})


def test_the_times_are_those_of_the_file():
    mesh = "mesh: {split_after_s: 1, ping_interval_s: 2, ping_timeout_s: 3}\n"
    assert settings_of(config(rest=mesh)) == Settings(1, 2, 3)
    assert settings_of(IrcdConfig()) == Settings()


async def test_how_links_are_is_told_as_soon_as_the_server_has_them(tmp_path: Path):
    (tmp_path / "link").write_text("sesame\n")
    links = config("name: thor").links
    driver = Driver(Network(links=links).ircd)
    linking = open_links(driver, NoLog(), tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert linking is not None
    (told,) = json.loads((tmp_path / "links.json").read_text())["links"]
    assert (told["host"], told["state"]) == ("thor", "apart")
    linking.stop()
    assert not (tmp_path / "links.json").exists()
    await driver.stop()
