"""What is on a host becomes a fleet file, and rendering that file gives the same configuration."""

from pathlib import Path

import pytest

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.config.fleet import files
from culture.config.ircd import IrcdConfig
from culture.ctl import main
from culture.ctl.fleet.render import AGENTS_FILE, IRCD_FILE, render

GOLDEN = Path(__file__).parent / "golden/fleet"


def adopted(directory: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert main.run(["adopt", "--from", str(directory)]) == 0
    return capsys.readouterr()


@pytest.mark.parametrize("host", ["spark", "thor", "orin"])
def test_a_host_that_is_adopted_and_rendered_again_is_the_same(host: str, capsys: pytest.CaptureFixture[str]):
    directory = GOLDEN / host / "etc/culture"

    text, told = adopted(directory, capsys)

    rendered = render(files.parse(text, where="adopted"))[host]
    agents, ircd = (directory / name for name in ("agents.yaml", "ircd.yaml"))
    assert loader.parse(rendered[AGENTS_FILE], AgentsConfig, where="x") == loader.load(agents, AgentsConfig)
    before, after = loader.load(ircd, IrcdConfig), loader.parse(rendered[IRCD_FILE], IrcdConfig, where="x")
    # leads_to of a public host comes from its role, which this host does not know.
    assert "'leads_to' of link 'ec2' has no place in a fleet file" in told
    assert [link.address for link in after.links] == [link.address for link in before.links]
    assert (after.listen, after.history, after.admin) == (before.listen, before.history, before.admin)


def test_a_host_that_nobody_is_linked_to_is_a_fleet_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("socket.gethostname", lambda: "spark.lan")
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude, model: opus}]\n")

    text, told = adopted(tmp_path, capsys)

    [host] = files.parse(text, where="adopted").hosts
    assert (host.name, host.address, [agent.model for agent in host.agents]) == ("spark", "", ["opus"])
    assert told == ""


def test_what_has_to_be_completed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "ircd.yaml").write_text("name: spark\nlinks: [{name: thor, secret_credential: thor}]\n")

    text, told = adopted(tmp_path, capsys)

    assert "- thor" in text
    assert "neither 'spark' nor 'thor' can connect to the other" in told
    assert "complete the result before you use it" in told
