"""Configuration is strict: every problem is reported, with file, line and key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from culture.config import loader
from culture.config.agents import AgentsConfig, find_agent
from culture.config.ircd import IrcdConfig
from culture.config.rules import at_least, checked
from culture.errors import ConfigError, NoInputError


@dataclass(frozen=True, slots=True)
class Inner:
    size: int = checked(at_least(1), default=5)
    ratio: float = 0.5


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    mode: Literal["a", "b"] = "a"
    on: bool = False
    words: tuple[str, ...] = ()
    maybe: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def parse(text: str) -> Outer:
    return loader.parse(text, Outer, where="f.yaml")


def problems(text: str, model: type = Outer) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        loader.parse(text, model, where="f.yaml")
    return [f"{problem.where}: {problem.what}" for problem in refused.value.problems]


def test_what_is_written_is_read_and_the_rest_is_default():
    text = "name: x\nmode: b\non: yes\nwords: [a, b]\nmaybe: null\ninner:\n  ratio: 2\n"
    text += "counts: {a: 1}\ndata: {b: [1, null]}\n"
    assert parse(text) == Outer("x", "b", True, ("a", "b"), None, {"a": 1}, {"b": [1, None]}, Inner(5, 2.0))


def test_every_problem_is_reported_with_its_line():
    text = "nmae: x\nmode: c\non: 1\nwords: a\ninner:\n  size: 0\n  ratio: much\n  size: 2\n"
    assert problems(text) == [
        "f.yaml:1: unknown key 'nmae'",
        "f.yaml:2: 'mode': expected one of a, b, found 'c'",
        "f.yaml:3: 'on': expected true or false, found '1'",
        "f.yaml:4: 'words': expected a list, found 'a'",
        "f.yaml:6: 'inner.size': must be at least 1, is 0",
        "f.yaml:7: 'inner.ratio': expected a number, found 'much'",
        "f.yaml:8: key 'size' stands twice in 'inner'",
        "f.yaml:1: missing key 'name'",
    ]


def test_a_mapping_of_other_keys_is_as_strict():
    text = "name: x\ncounts:\n  a: 1\n  b: many\n  a: 2\n  3: 4\n"
    assert problems(text) == [
        "f.yaml:4: 'counts.b': expected a whole number, found 'many'",
        "f.yaml:5: key 'a' stands twice in 'counts'",
        "f.yaml:6: 'counts': expected text, found '3'",
    ]


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "[]"])
def test_a_file_that_is_not_a_mapping(text: str):
    (problem,) = problems(text)
    assert problem.startswith("f.yaml:1: expected keys, found ")


def test_broken_yaml_names_the_line():
    (problem,) = problems("name: [a\nmode: b\n")
    assert problem.startswith("f.yaml:2: not valid YAML: ")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("[" * 2000, "not valid YAML: nested too deeply"),
        (r'"\UFFFFFFFF"', "not valid YAML: "),
        ("\x07", "not valid YAML: unacceptable character #x0007"),
        ("!!str {a: b}", "'name': expected text, found keys"),
        (r'"\ud800"', "'name': expected text, found "),
        (r'"a\0b"', "'name': expected text, found "),
    ],
)
def test_what_yaml_cannot_read_is_told_like_other_mistakes(value: str, what: str):
    (problem,) = problems(f"mode: a\nname: {value}\n")
    assert problem.startswith(f"f.yaml:2: {what}")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("on: !!bool foo", "'on': expected true or false, found 'foo'"),
        ("inner: {size: !!int ''}", "'inner.size': expected a whole number, found ''"),
        ("inner: {ratio: !!float ''}", "'inner.ratio': expected a number, found ''"),
    ],
)
def test_a_tag_makes_nothing_what_it_is_not(line: str, what: str):
    assert problems(f"name: x\n{line}\n") == [f"f.yaml:2: {what}"]


@pytest.mark.parametrize("number", ["10000000001", "99999999999999999999999", "0x" + "f" * 5000, ".inf"])
def test_a_number_has_an_end(number: str):
    key = "ratio" if number == ".inf" else "size"
    (problem,) = problems(f"name: x\ninner: {{{key}: {number}}}\n")
    assert problem == f"f.yaml:2: 'inner.{key}': {number} is too large: at most 10000000000"


@pytest.mark.parametrize("value", ["!!bool foo", "!!timestamp foo", "!mine foo", "&x [*x]", "[!!int '']"])
def test_data_of_any_form_is_told_if_it_has_none(value: str):
    (problem,) = problems(f"name: x\ndata: {{a: {value}}}\n")
    assert problem.startswith("f.yaml:2: 'data.a': ")


def test_no_object_is_ever_built_from_a_tag():
    assert problems("name: !!python/object/apply:os.system ['id']\n") == [
        "f.yaml:1: 'name': expected text, found a list"
    ]


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path):
    with pytest.raises(NoInputError, match="is not there"):
        loader.load(tmp_path / "none.yaml", Outer)
    (tmp_path / "f.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 6"):
        loader.load(tmp_path / "f.yaml", Outer)


def test_an_empty_file_is_all_defaults():
    assert loader.parse("", IrcdConfig, where="f") == IrcdConfig()
    assert loader.parse("# nothing\n", AgentsConfig, where="f") == AgentsConfig()


AGENTS = """\
server:
  name: spark
agents:
  - nick: spark-claude
    directory: /srv/project
    channels: ["#general"]
"""


def test_an_agent_is_found_by_its_nick():
    config = loader.parse(AGENTS, AgentsConfig, where="agents.yaml")
    agent = find_agent(config, "Spark-Claude", where="agents.yaml")
    assert (agent.nick, agent.agent, agent.directory) == ("spark-claude", "claude", "/srv/project")


def test_an_agent_that_is_not_configured_is_answered_with_those_that_are():
    config = loader.parse(AGENTS, AgentsConfig, where="agents.yaml")
    with pytest.raises(ConfigError) as refused:
        find_agent(config, "spark-codex", where="agents.yaml")
    (problem,) = refused.value.problems
    assert (problem.what, problem.hint) == ("no agent 'spark-codex'", "configured agents: spark-claude")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("spark-claude", "spark claude", "'agents[0].nick': 'spark claude' is not <host>-<name>"),
        ("spark-claude", "spark-cla/ude", "is not <host>-<name>"),
        ('"#general"', "general", "'general' is not a channel"),
        ("    channels", "    chanels", "unknown key 'chanels' in agent 'spark-claude'"),
    ],
)
def test_a_wrong_agent_is_named(old: str, new: str, what: str):
    assert any(what in problem for problem in problems(AGENTS.replace(old, new), AgentsConfig))


def test_two_agents_cannot_have_one_nick():
    text = AGENTS + "  - nick: SPARK-claude\n"
    assert problems(text, AgentsConfig) == ["f.yaml:4: 'agents': nick 'spark-claude' stands twice"]


@pytest.mark.parametrize(
    "address", ["6667", "host:", ":6667", "host:99999", "unix:relative", "::1:6667", "a b:1"]
)
def test_addresses_that_are_none(address: str):
    (problem,) = problems(f"listen: ['{address}']\n", IrcdConfig)
    assert f"'{address}'" in problem


@pytest.mark.parametrize("host", ["a..b", ".a", "a" * 64 + ".org"])
def test_hosts_that_cannot_be_looked_up(host: str):
    what = f"'{host}' is not the name of a host"
    assert problems(f"listen: ['{host}:6667']\n", IrcdConfig) == [f"f.yaml:1: 'listen': {what}"]
    assert problems(f"server: {{host: {host}}}\n", AgentsConfig) == [f"f.yaml:1: 'server.host': {what}"]


@pytest.mark.parametrize("name", ["spark-1", "1spark", "sp ark", "a" * 64, "spark.-x"])
def test_host_names_that_are_none(name: str):
    assert problems(f"name: '{name}'\n", IrcdConfig)[0].startswith(
        f"f.yaml:1: 'name': '{name}' is not a host name"
    )
