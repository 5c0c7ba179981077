"""The doctor finds what is wrong on a host, and every finding has a command that mends it."""

import json
import os
import socket
from pathlib import Path

import pytest

from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.config.links import LinkConfig
from culture.ctl import main
from culture.ctl.doctor import files, services
from culture.ctl.doctor.finding import Finding, Patient
from culture.ctl.fleet.record import Record, Undo
from culture.ctl.systemctl import Unit

RUNS: Unit = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running"}
FAILED: Unit = {"LoadState": "loaded", "ActiveState": "failed", "SubState": "failed"}
AGENT = "culture-agent@spark-claude.service"


def patient(tmp_path: Path, units: dict[str, Unit] | None = None, **keys: object) -> Patient:
    ircd = keys.get("ircd", IrcdConfig(name="spark", listen=()))
    agents = keys.get("agents", AgentsConfig(agents=(AgentConfig(nick="spark-claude"),)))
    return Patient(ircd, agents, units, tmp_path, tmp_path)  # type: ignore[arg-type]


def bad(findings: object) -> list[tuple[str, str, str]]:
    assert isinstance(findings, list)
    found: list[Finding] = findings
    assert all(each.hint for each in found if each.state != "ok")
    return [(each.subject, each.state, each.what) for each in found if each.state != "ok"]


def test_units_that_run_are_in_order(tmp_path: Path):
    units = {"culture-ircd.service": RUNS, AGENT: RUNS}

    assert bad(list(services.check_units(patient(tmp_path, units)))) == []


def test_units_that_failed_or_do_not_run_are_found(tmp_path: Path):
    units = {"culture-ircd.service": FAILED, "culture-prune.service": FAILED}

    assert bad(list(services.check_units(patient(tmp_path, units)))) == [
        ("server", "problem", "the server is failed"),
        ("units", "problem", "culture-prune.service failed"),
        ("spark-claude", "warning", "the agent is stopped"),
    ]


def test_without_systemd_it_says_so_and_goes_on(tmp_path: Path):
    assert bad(list(services.check_units(patient(tmp_path)))) == [
        ("systemd", "warning", "systemd does not run here")
    ]


def test_a_port_that_another_program_uses_is_found(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        ircd = IrcdConfig(name="spark", listen=(address,))
        stopped = patient(tmp_path, {}, ircd=ircd)
        runs = patient(tmp_path, {"culture-ircd.service": RUNS}, ircd=ircd)

        assert bad(list(services.check_ports(stopped))) == [
            ("ports", "problem", f"{address} is used by another program")
        ]
        assert bad(list(services.check_ports(runs))) == []

    assert bad(list(services.check_ports(runs))) == [
        ("ports", "problem", f"{address} is closed, although the server runs")
    ]


def test_a_link_that_is_down_is_found(tmp_path: Path):
    links = tuple(LinkConfig(name=name, secret_credential=name) for name in ("thor", "orin"))
    sick = patient(tmp_path, ircd=IrcdConfig(name="spark", links=links))
    assert bad(list(services.check_links(sick))) == [
        ("links", "warning", "the server does not report its links")
    ]

    rows = [{"host": "thor", "state": "linked"}, {"host": "orin", "state": "apart"}]
    (tmp_path / "links.json").write_text(json.dumps({"links": rows}))
    assert bad(list(services.check_links(sick))) == [("links", "problem", "not linked to orin: apart")]


def test_credentials_that_are_missing_or_open_to_others_are_found(tmp_path: Path):
    directory = tmp_path / "etc/culture/credentials"
    directory.mkdir(parents=True)
    (directory / "thor").write_text("sesame")
    (directory / "thor").chmod(0o644)
    links = tuple(LinkConfig(name=name, secret_credential=name) for name in ("thor", "orin"))

    found = list(files.check_credentials(patient(tmp_path, ircd=IrcdConfig(name="spark", links=links))))

    assert bad(found) == [
        ("credentials", "problem", "the credential 'orin' is missing"),
        ("credentials", "problem", f"others can read '{directory / 'thor'}'"),
    ]
    os.system(found[1].hint)
    assert (directory / "thor").stat().st_mode & 0o777 == 0o600


def test_a_directory_that_does_not_exist_is_found(tmp_path: Path):
    agents = AgentsConfig(agents=(AgentConfig(nick="spark-claude", directory="/srv/nowhere"),))

    [finding] = files.check_missing(patient(tmp_path, agents=agents))

    assert finding == Finding(
        "spark-claude", "problem", "the directory '/srv/nowhere' does not exist", "mkdir /srv/nowhere"
    )


def test_a_program_that_is_not_installed_is_found_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "_SERVICE_PATH", str(tmp_path))
    agents = AgentsConfig(agents=(AgentConfig(nick="spark-codex", agent="codex"),))

    [finding] = files.check_backends(patient(tmp_path, agents=agents))

    assert finding.what == "'codex' is not installed"
    assert "npm install" in finding.hint


def test_an_agent_without_a_login_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "bin/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 1.0.0\n")
    program.chmod(0o755)
    monkeypatch.setattr(files, "_SERVICE_PATH", str(program.parent))
    (tmp_path / "var/lib/culture/agents/spark-codex").mkdir(parents=True)
    agents = AgentsConfig(agents=(AgentConfig(nick="spark-codex", agent="codex"),))

    [finding] = files.check_backends(patient(tmp_path, agents=agents))
    assert (finding.state, finding.hint) == ("warning", "culturectl login spark-codex")

    login = tmp_path / "var/lib/culture/agents/spark-codex/.codex/auth.json"
    login.parent.mkdir()
    login.write_text("{}")
    assert list(files.check_backends(patient(tmp_path, agents=agents))) == []


def test_an_apply_that_waits_for_its_confirmation_is_found(tmp_path: Path):
    record = Record(tmp_path)
    with record.locked():
        record.begin(Undo("spark", {}, {}, (), None))

    assert bad(list(files.check_fleet(patient(tmp_path)))) == [
        ("fleet", "warning", "an apply was not confirmed")
    ]


def test_mistakes_in_files_are_shown_with_their_line_and_the_status_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    (tmp_path / "ircd.yaml").write_text("nmae: spark\n")

    assert main.run(["doctor"]) == 1

    printed = capsys.readouterr()
    assert f"problem: {tmp_path}/ircd.yaml:1: unknown key 'nmae'\n" in printed.out
    assert "did you mean 'name'?" in printed.out
    assert "problems: 1," in printed.err
    assert main.run(["doctor", "--json"]) == 1
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first.keys() == {"subject", "state", "what", "hint"}
