"""Where an agent was, people read that its service gave up."""

from pathlib import Path

import pytest
from support.irc import connected
from support.program import Program

from culture.ctl import main
from culture.ctl.failed import words
from culture.errors import UnavailableError


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"MONITOR_EXIT_STATUS": "78", "MONITOR_SERVICE_RESULT": "exit-code"}, "a wrong configuration"),
        ({"MONITOR_EXIT_STATUS": "9", "MONITOR_SERVICE_RESULT": "signal"}, "signal 9"),
        ({}, "it did not say why"),
    ],
)
def test_it_says_why_and_what_to_type(env: dict[str, str], why: str):
    told = f"spark-claude is not running any more: {why}. See: systemctl status culture-agent@spark-claude"
    assert words("spark-claude", env) == told


async def test_people_in_its_channels_are_told_by_a_notice(tmp_path: Path):
    server, agents = tmp_path / "ircd.yaml", tmp_path / "agents.yaml"
    server.write_text("name: spark\nlisten: ['127.0.0.1:0']\n")
    ircd = Program("culture.daemons.ircd", "--config", str(server), home=tmp_path)
    try:
        port = int((await ircd.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        agents.write_text(
            f"server: {{port: {port}}}\nagents:\n  - {{nick: spark-claude, channels: ['#ops']}}\n"
        )
        async with connected(port, "spark-ori", "#ops") as ori:
            teller = Program(
                "culture.ctl.main", "failed", "spark-claude", "--config", str(agents), home=tmp_path
            )
            told = await ori.until("NOTICE #ops :spark-claude is not running any more")
            assert told.startswith(":spark-systemd!")
            assert await teller.ends() == 0
            await ori.until(":spark-systemd!systemd@spark QUIT ")
    finally:
        ircd.stop()


def test_without_a_server_it_says_that_nobody_could_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    agents = tmp_path / "agents.yaml"
    agents.write_text(f"server: {{host: 'unix:{tmp_path}/none'}}\nagents:\n  - nick: spark-claude\n")
    monkeypatch.setattr("culture.ctl.failed.PATIENCE_S", 0.1)

    with pytest.raises(UnavailableError, match=r"cannot tell anybody: no answer from unix:"):
        main.run(["failed", "spark-claude", "--config", str(agents)])
