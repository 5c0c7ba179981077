"""Links as they are configured, and what operators learn of them."""

import json
from pathlib import Path

import pytest
from support.network import Network

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError
from culture.federation.ports import MeshSettings, Peer
from culture.net.driver import Driver
from culture.net.links.mesh_runtime import open_links, peers_of, settings_of
from culture.skills.history.log import NoLog


def config(*links: str, rest: str = "") -> IrcdConfig:
    text = (
        rest
        + ("links:\n" if links else "")
        + "".join(f"  - {{secret_credential: link{number}, {link}}}\n" for number, link in enumerate(links))
    )
    return loader.parse(text, IrcdConfig, where="f.yaml")


def test_peers_have_what_the_configuration_says(tmp_path: Path):
    for number in range(5):
        (tmp_path / f"link{number}").write_text(f"sesame{number}\n")
    found = peers_of(
        config(
            "name: thor",
            "name: orin, address: '127.0.0.1:1', channels: ['#A']",
            "name: ec2, address: '127.0.0.1:1', autoconnect: false",
            f"name: nano, accept_from: [10.0.0.7], accept_fingerprint: '{'AB:' * 31}AB'",
            "name: tx2, address: '127.0.0.1:1', plain_secret: true",
        ),
        {"CREDENTIALS_DIRECTORY": str(tmp_path)},
    )
    assert [*found.values()] == [
        Peer("thor", "sesame0"),
        Peer("orin", "sesame1", frozenset({"#a"}), has_address=True, is_dialed=True),
        Peer("ec2", "sesame2", has_address=True),
        Peer("nano", "sesame3", accept_from=("10.0.0.7",), accept_fingerprint="ab" * 32),
        Peer("tx2", "sesame4", has_address=True, is_dialed=True, plain_secret=True),
    ]


def test_two_links_with_one_secret_are_refused(tmp_path: Path):
    for number, secret in enumerate(("sesame", "simsim", "sesame\n")):
        (tmp_path / f"link{number}").write_text(secret)
    with pytest.raises(ConfigError, match="links 'thor' and 'ec2' have the same secret"):
        peers_of(config("name: thor", "name: orin", "name: ec2"), {"CREDENTIALS_DIRECTORY": str(tmp_path)})


def test_a_secret_that_is_empty_is_refused(tmp_path: Path):
    (tmp_path / "link0").write_text("\n")
    with pytest.raises(ConfigError, match="the secret of link 'thor' is empty"):
        peers_of(config("name: thor"), {"CREDENTIALS_DIRECTORY": str(tmp_path)})


async def test_a_short_secret_is_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "link0").write_text("sesame")
    (tmp_path / "link1").write_text("sesame, open the door")
    driver = Driver(Network(links=config("name: thor", "name: orin").links).ircd)
    linking = open_links(driver, NoLog(), tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert linking is not None
    assert [record.getMessage() for record in caplog.records] == [
        "thor: the secret of this link is short; someone who records a handshake can guess it"
    ]
    linking.stop()
    await driver.stop()


def test_a_secret_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="credential 'link0'"):
        peers_of(config("name: thor"), {})


def test_the_times_are_those_of_the_file():
    mesh = "mesh: {split_after_s: 1, ping_interval_s: 2, ping_timeout_s: 3}\n"
    assert settings_of(config(rest=mesh)) == MeshSettings(1, 2, 3)
    assert settings_of(IrcdConfig()) == MeshSettings()


async def test_how_links_are_is_told_as_soon_as_the_server_has_them(tmp_path: Path):
    (tmp_path / "link0").write_text("sesame\n")
    links = config("name: thor").links
    driver = Driver(Network(links=links).ircd)
    linking = open_links(driver, NoLog(), tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert linking is not None
    (told,) = json.loads((tmp_path / "links.json").read_text())["links"]
    assert (told["host"], told["state"]) == ("thor", "apart")
    linking.stop()
    assert not (tmp_path / "links.json").exists()
    await driver.stop()
