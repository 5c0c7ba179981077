"""Where an agent was, people read that its service gave up."""

import contextlib
import os
from pathlib import Path

import pytest
from support.certificates import make_pair
from support.irc import connected
from support.program import Program

from culture.config import paths
from culture.ctl import main
from culture.ctl.verbs.agents.announce_failure import failure_text, is_agent_running
from culture.errors import NotAllowedError, UnavailableError


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (
            {"MONITOR_EXIT_STATUS": "78", "MONITOR_SERVICE_RESULT": "exit-code"},
            "a wrong configuration, or a program that is missing, too old or not logged in",
        ),
        ({"MONITOR_EXIT_STATUS": "9", "MONITOR_SERVICE_RESULT": "signal"}, "signal 9"),
        ({}, "it did not say why"),
    ],
)
def test_it_says_why_and_what_to_type(env: dict[str, str], why: str):
    told = f"spark-claude is not running any more: {why}. See: systemctl status culture-agent@spark-claude"
    assert failure_text("spark-claude", env) == told


@contextlib.asynccontextmanager
async def serving(home: Path, config: str = "listen: ['127.0.0.1:0']\n", name: str = "spark"):
    (home / "ircd.yaml").write_text(f"name: {name}\n{config}")
    ircd = Program("culture.daemons.ircd", "--config", str(home / "ircd.yaml"), home=home)
    try:
        yield ircd
    finally:
        ircd.stop()


async def port_of(ircd: Program, kind: str = "plain") -> int:
    return int((await ircd.says(rf"listening on 127\.0\.0\.1:(\d+) \({kind},"))[1])


def failed(home: Path, server: str, channels: str = "['#ops']") -> Program:
    agents = home / "agents.yaml"
    agents.write_text(f"server: {{{server}}}\nagents:\n  - {{nick: spark-claude, channels: {channels}}}\n")
    return Program("culture.ctl.main", "failed", "spark-claude", "--config", str(agents), home=home)


@pytest.mark.parametrize(("rc", "is_running"), [(0, True), (3, False)])
def test_systemd_is_asked_whether_a_service_runs(tmp_path, monkeypatch, rc, is_running):
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f"#!/bin/sh\n[ $3 = culture-agent@spark-claude.service ] && exit {rc}\n")
    systemctl.chmod(0o755)
    (tmp_path / "spark-claude.sock").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", tmp_path)

    assert is_agent_running("spark-claude") is is_running


async def test_people_in_its_channels_are_told_by_a_notice(tmp_path: Path):
    async with serving(tmp_path) as ircd:
        port = await port_of(ircd)
        async with connected(port, "spark-ori", "#ops") as ori:
            teller = failed(tmp_path, f"port: {port}")
            told = await ori.until("NOTICE #ops :spark-claude is not running any more")
            assert told.startswith(":spark-systemd!")
            assert await teller.ends() == 0
            await ori.until(":spark-systemd!systemd@spark QUIT ")


async def test_a_channel_in_which_nobody_can_be_told_does_not_keep_it_from_others(tmp_path: Path):
    async with serving(tmp_path) as ircd:
        port = await port_of(ircd)
        async with connected(port, "spark-ori", "#ops", "#locked", "#hushed") as ori:
            ori.send("MODE #locked +i", "MODE #hushed +m", "PING set")
            await ori.until("PONG")
            teller = failed(tmp_path, f"port: {port}", "['#locked', '#hushed', '#empty', '#ops']")
            await ori.until("NOTICE #ops :spark-claude is not running any more")
            assert await teller.ends() == 0

    assert teller.said().splitlines() == [
        "'#locked': Cannot join channel (+i)",
        "'#hushed': the server does not pass on what is said there",
        "'#empty': nobody is there",
    ]


@pytest.mark.parametrize(
    ("channels", "why"),
    [("['#ops', '#dev']", "'#ops': nobody is there; '#dev': nobody is there"), ("[]", "it has no channels")],
)
async def test_where_nobody_was_told_it_fails_and_says_why(tmp_path: Path, channels: str, why: str):
    async with serving(tmp_path) as ircd:
        teller = failed(tmp_path, f"port: {await port_of(ircd)}", channels)
        assert await teller.ends() == UnavailableError.exit_status

    assert teller.said() == f"culturectl: nobody was told: {why}\n"


async def test_they_are_told_by_tls_where_that_is_configured(tmp_path: Path):
    pair = make_pair(tmp_path, "localhost")
    tls = f"tls: {{certificate: {pair.certificate}, key: {pair.key}}}\n"
    config = f"listen: ['127.0.0.1:0', 'tls:127.0.0.1:0']\n{tls}"
    async with (
        serving(tmp_path, config) as ircd,
        connected(await port_of(ircd), "spark-ori", "#ops") as ori,
    ):
        port = await port_of(ircd, "TLS")
        teller = failed(tmp_path, f"host: localhost, port: {port}, tls: true, tls_ca: {pair.certificate}")
        await ori.until("NOTICE #ops :spark-claude is not running any more")
        assert await teller.ends() == 0


async def test_a_server_that_refuses_is_not_waited_for(tmp_path: Path):
    async with serving(tmp_path, name="thor") as ircd:
        teller = failed(tmp_path, f"port: {await port_of(ircd)}")
        assert await teller.ends() == NotAllowedError.exit_status

    assert "the server does not take the nick 'spark-systemd'" in teller.said()


def test_without_a_server_it_says_that_nobody_could_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    agents = tmp_path / "agents.yaml"
    agents.write_text(f"server: {{host: 'unix:{tmp_path}/none'}}\nagents:\n  - nick: spark-claude\n")
    monkeypatch.setattr("culture.ctl.verbs.agents.announce_failure.TIMEOUT_S", 0.1)

    with pytest.raises(UnavailableError, match=r"nobody was told: cannot connect to unix:"):
        main.run(["failed", "spark-claude", "--config", str(agents)])
