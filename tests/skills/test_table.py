"""Skills by the names that configuration has for them."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.network import Network

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.config.skills import BUILT_IN
from culture.errors import ConfigError
from culture.ircd.skills import Skills
from culture.skills.table import SKILLS, open_skills

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"


@contextlib.contextmanager
def opened(
    state_dir: Path, *names: str, report: Callable[[str], None] = lambda text: None
) -> Iterator[Skills]:
    config = IrcdConfig(name="spark", skills=names)
    skills = open_skills(config, state_dir, report, lambda name, error: None)
    try:
        yield skills
    finally:
        skills.close()


def test_configuration_knows_the_skills_that_there_are():
    assert set(BUILT_IN) == SKILLS.keys()


def test_those_that_are_named_are_there_and_no_others(tmp_path: Path):
    with opened(tmp_path, *BUILT_IN) as skills:
        assert skills.commands.keys() == {"CHATHISTORY", "HISTORY", "URLS"}
    with opened(tmp_path) as skills:
        assert skills.commands == {}
        assert not skills.wanted


def test_a_file_that_is_damaged_is_set_aside_and_the_server_starts(tmp_path: Path):
    damaged = {"history/history.db", "logger/lines.db", "profiles/profiles.db", "urlindex/urls.db"}
    with opened(tmp_path, *BUILT_IN):
        pass
    for name in damaged:
        (tmp_path / name).write_bytes(b"not a database " * 1000)
    reports: list[str] = []
    with opened(tmp_path, *BUILT_IN, report=reports.append) as skills:
        assert skills.is_alive()
    aside = {path for path in tmp_path.rglob("*.damaged-*") if path.suffix.startswith(".damaged")}
    assert {str(path.relative_to(tmp_path)).partition(".damaged")[0] for path in aside} == damaged
    assert sorted(reports) == sorted(f"a damaged file was set aside as '{path}'" for path in aside)


def test_a_skill_of_ones_own_is_a_class_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    with opened(tmp_path, "seen:Seen") as skills:
        network = Network(skills=skills)
        ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
        ori.send("PRIVMSG #ops :hello")
        network.flush()
        bo.send("SEEN Spark-Ori", "SEEN spark-bo")
        assert bo.lines() == [
            ":spark SEEN Spark-Ori #ops :1970-01-12 13:46:40",
            ":spark FAIL SEEN NEVER_SEEN spark-bo :Nobody of that nick spoke in a public channel",
        ]
    with opened(tmp_path, "seen:Seen") as skills:
        bo = Network(skills=skills).client("spark-bo")
        bo.send("SEEN spark-ori")
        assert bo.lines() == [":spark SEEN spark-ori #ops :1970-01-12 13:46:40"]


def test_the_example_is_short():
    assert len((EXAMPLES / "seen.py").read_text().splitlines()) <= 50


@pytest.mark.parametrize("name", ["no_such_module:Skill", "json:NoSuchClass"])
def test_one_that_is_not_there_is_told(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match=f"there is no '{name}'"), opened(tmp_path, name):
        pass


@pytest.mark.parametrize("name", ["json:JSONDecoder", "json:loads"])
def test_one_that_is_no_skill_is_told(tmp_path: Path, name: str):
    with pytest.raises(ConfigError, match=f"skills: '{name}' is no skill"), opened(tmp_path, name):
        pass


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("skills: [histroy]", "'histroy' is no skill"),
        ("skills: [history, history]", "'history' stands twice"),
        ("history: {channels: [{name: ops}]}", "'ops' is not a channel"),
        ("history: {channels: [{name: '#a'}, {name: '#A'}]}", "'#a' stands twice"),
        ("history: {keep_days: -1}", "must be at least 0"),
        ("logger: {directory: logs}", "'logs' is not an absolute path"),
    ],
)
def test_mistakes_in_the_configuration(text: str, told: str):
    with pytest.raises(ConfigError, match=told):
        loader.parse(text, IrcdConfig, where="ircd.yaml")
