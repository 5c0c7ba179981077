"""The files of each host are rendered from the fleet, the same way every time."""

from pathlib import Path

import pytest

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.config.fleet import files
from culture.config.fleet.derive import agents_of, ircd_of
from culture.config.ircd import IrcdConfig
from culture.ctl import main
from culture.ctl.fleet.render import AGENTS_FILE, IRCD_FILE, render
from culture.errors import ConfigError, NoInputError, UsageError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "skel/fleet/fleet.yaml"
GOLDEN = Path(__file__).parent / "golden/fleet"


def tree(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", ["spark", "thor", "orin", "ec2"])
def test_a_host_is_rendered_as_the_golden_files_have_it(host: str, tmp_path: Path):
    """`culturectl render --fleet skel/fleet/fleet.yaml --root tests/ctl/golden/fleet` writes them anew."""
    assert main.run(["render", "--fleet", str(EXAMPLE), "--host", host, "--root", str(tmp_path)]) == 0

    assert tree(tmp_path) == tree(GOLDEN / host)


def test_all_hosts_are_written_below_a_directory_of_their_own(tmp_path: Path):
    main.run(["render", "--fleet", str(EXAMPLE), "--root", str(tmp_path)])

    assert tree(tmp_path) == tree(GOLDEN)


def test_what_is_rendered_loads_as_what_the_fleet_says():
    fleet = files.load(EXAMPLE)
    rendered = render(fleet)
    for host in fleet.hosts:
        texts = rendered[host.name]
        assert loader.parse(texts[IRCD_FILE], IrcdConfig, where="x") == ircd_of(fleet, host)
        assert loader.parse(texts[AGENTS_FILE], AgentsConfig, where="x") == agents_of(host)


def test_without_a_directory_the_files_are_printed(capsys: pytest.CaptureFixture[str]):
    main.run(["render", "--fleet", str(EXAMPLE), "--host", "EC2"])

    assert capsys.readouterr().out.startswith("# ec2: /etc/culture/ircd.yaml\n# The IRC server of ec2.")


def test_a_mistake_is_reported_and_nothing_is_written(tmp_path: Path):
    file = tmp_path / "fleet.yaml"
    file.write_text(EXAMPLE.read_text().replace("mesh: full", "mesh: ring"))

    for verb in (["check"], ["render", "--root", str(tmp_path / "out")]):
        with pytest.raises(ConfigError) as refused:
            main.run([*verb, "--fleet", str(file)])
        assert refused.value.exit_status == 78
        assert refused.value.problems[0].where == f"{file}:3"
    assert not (tmp_path / "out").exists()


def test_a_valid_file_is_counted(capsys: pytest.CaptureFixture[str]):
    assert main.run(["check", "--fleet", str(EXAMPLE)]) == 0

    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "the fleet file is valid: 4 hosts, 6 links, 4 agents\n")


def test_a_missing_file_and_an_unknown_host_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoInputError) as missing:
        main.run(["check"])
    assert missing.value.hint == "culturectl adopt > fleet.yaml"

    with pytest.raises(UsageError) as unknown:
        main.run(["render", "--fleet", str(EXAMPLE), "--host", "mars"])
    assert unknown.value.hint == "hosts: spark, thor, orin, ec2"


def test_the_file_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "fleet.yaml").write_text(EXAMPLE.read_text())
    monkeypatch.chdir(tmp_path)

    assert main.run(["-q", "check"]) == 0
