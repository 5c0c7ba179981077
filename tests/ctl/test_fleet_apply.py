"""Applying makes a host as the fleet says, twice does nothing, and it can be taken back."""

from pathlib import Path

import pytest

from culture.ctl import main
from culture.ctl.fleet.record import Record, Undo
from culture.errors import ConfigError, NoInputError, TemporaryError, UsageError

FLEET = """\
mesh: full
hosts:
  - name: spark
    address: 10.0.0.1:6690
    agents:
      - {nick: spark-claude, writable: [/srv/project]}
  - name: thor
    address: 10.0.0.2:6690
"""
DROP_IN = "etc/systemd/system/culture-agent@spark-claude.service.d/50-agents-yaml.conf"


class Machine:
    """A host whose files are below a directory of the test, without systemd."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "root"
        self._fleet = directory / "fleet.yaml"
        (self.root / "srv/project").mkdir(parents=True)
        self.write("etc/culture/credentials/link-spark-thor", "sesame")
        self.write("etc/culture/ircd.yaml", "# as it was installed\n")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def files(self) -> dict[str, str]:
        found = [path for path in (self.root / "etc").rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_text() for path in found}

    def run(self, verb: str, *options: str, fleet: str | None = None) -> int:
        arguments = [verb, "--root", str(self.root), *options]
        if fleet is not None:
            self._fleet.write_text(fleet)
            arguments += ["--fleet", str(self._fleet), "--host", "spark"]
        return main.run(arguments)


@pytest.fixture
def spark(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_applying_twice_changes_nothing_the_second_time(spark: Machine, capsys: pytest.CaptureFixture[str]):
    assert spark.run("apply", fleet=FLEET) == 0
    first = spark.files()
    assert "name: spark" in first["etc/culture/ircd.yaml"]
    assert 'ReadWritePaths="-/srv/project"' in first[DROP_IN]
    assert capsys.readouterr().out.startswith("HOST   ACTION")

    assert spark.run("apply", fleet=FLEET) == 0
    assert spark.files() == first
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "spark is as the fleet says: nothing to do\n")


def test_a_file_keeps_its_mode(spark: Machine):
    (spark.root / "etc/culture/ircd.yaml").chmod(0o640)

    spark.run("apply", fleet=FLEET)

    assert (spark.root / "etc/culture/ircd.yaml").stat().st_mode & 0o777 == 0o640


def test_a_plan_shows_the_difference_and_writes_nothing(spark: Machine, capsys: pytest.CaptureFixture[str]):
    before = spark.files()
    for verb in (["plan"], ["apply", "--dry-run"]):
        assert spark.run(*verb, fleet=FLEET) == 1
        told = capsys.readouterr().out
        assert "spark  change   /etc/culture/ircd.yaml" in told
        assert "spark  start    culture-agent@spark-claude.service" in told
        assert "+name: spark" in told
    assert spark.files() == before

    spark.run("apply", fleet=FLEET)
    assert spark.run("plan", fleet=FLEET) == 0


def test_what_would_fail_is_named_and_nothing_is_written(spark: Machine):
    before = spark.files()
    fleet = FLEET.replace("/srv/project", "/srv/other").replace("thor", "orin")

    with pytest.raises(ConfigError) as refused:
        spark.run("apply", fleet=fleet)

    assert {(problem.what, problem.hint) for problem in refused.value.problems} == {
        (
            "the credential 'link-orin-spark' is not in /etc/culture/credentials",
            "culturectl secrets install spark",
        ),
        ("the directory '/srv/other' does not exist", "mkdir /srv/other"),
    }
    assert spark.files() == before


def test_a_broken_fleet_file_changes_nothing(spark: Machine):
    before = spark.files()

    with pytest.raises(ConfigError) as refused:
        spark.run("apply", fleet=FLEET.replace("mesh: full", "mesh: ring"))

    assert refused.value.exit_status == 78
    assert spark.files() == before


def test_a_host_is_not_turned_into_another(spark: Machine):
    spark.write("etc/culture/ircd.yaml", "name: thor\n")

    with pytest.raises(ConfigError) as refused:
        spark.run("apply", fleet=FLEET)

    [problem] = refused.value.problems
    assert problem.what == "this host is 'thor' in /etc/culture/ircd.yaml, and not 'spark'"


def test_undo_makes_everything_as_it_was(spark: Machine):
    before = spark.files()
    spark.run("apply", fleet=FLEET)

    assert spark.run("undo") == 0

    assert spark.files() == before
    with pytest.raises(NoInputError):
        spark.run("undo")
    with pytest.raises(NoInputError):
        spark.run("drift")


def test_an_apply_that_waits_for_its_confirmation_stands_in_the_way_of_the_next(spark: Machine):
    before = spark.files()
    spark.run("apply", "--confirm-within", "60", fleet=FLEET)

    with pytest.raises(TemporaryError) as refused:
        spark.run("apply", fleet=FLEET.replace("10.0.0.2", "10.0.0.3"))
    assert refused.value.hint == "culturectl confirm, or culturectl undo"

    assert spark.run("undo", "--pending") == 0
    assert spark.files() == before


def test_undo_of_what_was_confirmed_does_nothing_if_only_the_pending_is_meant(spark: Machine):
    spark.run("apply", fleet=FLEET)
    applied = spark.files()

    assert spark.run("undo", "--pending") == 0

    assert spark.files() == applied


def test_what_was_changed_by_hand_is_shown_and_stays(spark: Machine, capsys: pytest.CaptureFixture[str]):
    spark.run("apply", fleet=FLEET)
    assert spark.run("drift") == 0
    spark.write("etc/culture/agents.yaml", "agents: []\n")
    (spark.root / DROP_IN).unlink()
    other = DROP_IN.replace("claude", "codex")
    spark.write(other, "[Service]\n")
    capsys.readouterr()

    assert spark.run("drift") == 1

    told = capsys.readouterr().out
    assert "changed  /etc/culture/agents.yaml" in told
    assert f"removed  /{DROP_IN}" in told
    assert f"added    /{other}" in told
    assert "+agents: []" in told
    assert spark.read("etc/culture/agents.yaml") == "agents: []\n"
    assert spark.run("drift", "--json") == 1
    assert '{"path": "/etc/culture/agents.yaml", "change": "changed"}' in capsys.readouterr().out


def test_nothing_was_applied_yet(spark: Machine):
    with pytest.raises(NoInputError) as missing:
        spark.run("drift")
    assert missing.value.hint == "culturectl apply"


def test_a_machine_that_is_not_in_the_fleet_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("socket.gethostname", lambda: "mars")
    (tmp_path / "fleet.yaml").write_text(FLEET)

    with pytest.raises(UsageError) as refused:
        main.run(["plan", "--fleet", str(tmp_path / "fleet.yaml")])

    assert refused.value.hint == "--host spark|thor"


def test_a_power_cut_in_the_middle_of_an_apply_is_undone_at_the_boot(spark: Machine):
    """The record is on disk before the first file is written; culture-undo.service runs this verb."""
    before = spark.files()
    files = {"/etc/culture/ircd.yaml": before["etc/culture/ircd.yaml"], f"/{DROP_IN}": None}
    undo = Undo("spark", files, {}, (), None)
    record = Record(spark.root)
    with record.locked():
        record.begin(undo)
    spark.write("etc/culture/ircd.yaml", "name: sp")

    assert spark.run("undo", "--pending", "--at-boot") == 0

    assert spark.files() == before
    assert record.pending() is None
