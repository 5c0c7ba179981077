"""The shipped files have every key, commented out, at its default."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from culture.config import loader
from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.bridge import BridgeClient, BridgeConfig
from culture.config.ircd import IrcdConfig

ROOT = Path(__file__).resolve().parents[2]


def uncommented(path: Path) -> str:
    """The file with its keys switched on: an explanation has one space behind its '#', a key does not."""
    return re.sub(r"^#(?! \S)", "", path.read_text(), flags=re.MULTILINE)


def keys(model: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(model)}


SHIPPED = [("ircd.yaml", IrcdConfig), ("agents.yaml", AgentsConfig), ("bridge.yaml", BridgeConfig)]


@pytest.mark.parametrize(("name", "model"), SHIPPED)
def test_the_file_as_shipped_is_all_defaults(name: str, model: type[Any]):
    assert loader.load(ROOT / "etc" / name, model) == model()


def test_every_key_of_ircd_yaml_is_there_at_its_default():
    text = uncommented(ROOT / "etc/ircd.yaml")
    assert loader.parse(text, IrcdConfig, where="etc/ircd.yaml") == IrcdConfig()
    written = yaml.safe_load(text)
    assert written.keys() == keys(IrcdConfig)
    assert written["limits"].keys() == keys(type(IrcdConfig().limits))


def test_every_key_of_agents_yaml_is_there_at_its_default():
    text = uncommented(ROOT / "etc/agents.yaml")
    config = loader.parse(text, AgentsConfig, where="etc/agents.yaml")
    assert dataclasses.replace(config, agents=()) == AgentsConfig()
    assert config.agents == (AgentConfig(nick="spark-claude"),)
    written = yaml.safe_load(text)
    assert written.keys() == keys(AgentsConfig)
    assert written["server"].keys() == keys(type(AgentsConfig().server))
    assert written["turns"].keys() == keys(type(AgentsConfig().turns))
    assert written["supervisor"].keys() == keys(type(AgentsConfig().supervisor))
    assert written["heartbeat"].keys() == keys(type(AgentsConfig().heartbeat))
    assert written["agents"][0].keys() == keys(AgentConfig)


def test_every_key_of_bridge_yaml_is_there_at_its_default():
    text = uncommented(ROOT / "etc/bridge.yaml")
    config = loader.parse(text, BridgeConfig, where="etc/bridge.yaml")
    assert dataclasses.replace(config, clients=()) == BridgeConfig()
    (client,) = config.clients
    assert client == BridgeClient(client.name, client.nick, client.token_sha256)
    written = yaml.safe_load(text)
    assert written.keys() == keys(BridgeConfig)
    for name in ("server", "tls", "oauth", "limits"):
        assert written[name].keys() == keys(type(getattr(BridgeConfig(), name)))
    assert written["clients"][0].keys() == keys(BridgeClient)


@pytest.mark.parametrize(("name", "model"), [("ircd.yaml", IrcdConfig), ("agents.yaml", AgentsConfig)])
def test_what_a_first_try_starts_from_is_valid(name: str, model: type[Any]):
    assert loader.load(ROOT / "skel" / name, model) != model()
