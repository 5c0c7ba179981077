"""The logger skill: files that people and grep like."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network import Network

from culture.ircd.skills import EventRecord, Skills
from culture.skills.logfiles import file_name
from culture.skills.logger import Logger


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def logger(logs: Path, tmp_path: Path) -> Iterator[Logger]:
    logger = Logger(logs, tmp_path)
    yield logger
    logger.close()


def settle(network: Network, logger: Logger) -> None:
    network.flush()
    logger.flush()


def test_one_file_per_channel_and_day(logs: Path, logger: Logger):
    network = Network(skills=Skills([logger]))
    ori = network.client("spark-ori", "#Ops")
    ori.send("PRIVMSG #ops :hello", "PRIVMSG #ops :\x01ACTION waves\x01", "PRIVMSG #ops :\x01PING\x01")
    ori.send("NOTICE #ops :careful")
    bo = network.client("spark-bo", "#ops", "#other")
    ori.send("TOPIC #ops :new", "MODE #ops +m", "PRIVMSG spark-bo :secret", "PRIVMSG @#ops :operators")
    bo.send("NICK spark-bob")
    network.clock.advance(86400)
    ori.send("KICK #ops spark-bob :bye", "PART #ops :enough")
    bo.send("QUIT :gone")
    settle(network, logger)
    assert (logs / "#ops" / "1970-01-12.log").read_text().splitlines() == [
        "13:46:40 -- spark-ori joined",
        "13:46:40 <spark-ori> hello",
        "13:46:40 * spark-ori waves",
        "13:46:40 -spark-ori- careful",
        "13:46:40 -- spark-bo joined",
        "13:46:40 -- spark-ori set the topic: new",
        "13:46:40 -- spark-ori set +m",
        "13:46:40 -- spark-bo is now spark-bob",
    ]
    assert (logs / "#ops" / "1970-01-13.log").read_text().splitlines() == [
        "13:46:40 -- spark-ori kicked spark-bob (bye)",
        "13:46:40 -- spark-ori left (enough)",
    ]
    assert "-- spark-bob quit (Quit: gone)" in (logs / "#other" / "1970-01-13.log").read_text()


@pytest.mark.parametrize("name", ["#../../etc", "#a/b", "#.", "#\u2603", "#%2e", "#" + "é" * 60, "#a\\b|c*?"])
def test_any_channel_has_a_safe_name(tmp_path: Path, name: str):
    safe = file_name(name)
    assert "/" not in safe
    assert safe.startswith("#")
    assert len(safe.encode()) <= 200
    assert (tmp_path / safe).parent == tmp_path


def test_names_that_differ_stay_different():
    names = ["#a/b", "#a%2fb", "#a%252fb", "#" + "é" * 63, "#" + "é" * 62 + "e"]
    assert len({file_name(name) for name in names}) == len(names)
    assert file_name("#OPS[]") == file_name("#ops{}")


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_files_are_committed_at_an_interval(logs: Path):
    now = 1_000_000.0
    logger = Logger(logs, logs, commit_every_s=60, clock=lambda: now)
    network = Network(skills=Skills([logger]))
    network.client("spark-ori", "#ops").send("PRIVMSG #ops :hello")
    settle(network, logger)
    assert not (logs / ".git").exists()
    now += 60
    logger.flush()
    now += 60
    logger.flush()
    told = subprocess.run(
        ["git", "-C", logs, "log", "--format=%s", "--name-only"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n") == ["logs until 1970-01-12 13:47", "", "#ops/1970-01-12.log", ""]
    logger.close()


def test_a_full_disk_is_survived(tmp_path: Path):
    reports: list[str] = []
    blocked = tmp_path / "logs"
    blocked.write_text("in the way")
    logger = Logger(blocked, tmp_path, report=reports.append)
    network = Network(skills=Skills([logger]))
    ori = network.client("spark-ori", "#ops")
    settle(network, logger)
    ori.send("PRIVMSG #ops :kept")
    settle(network, logger)
    assert len(reports) == 1
    assert reports[0].startswith("the logger is behind, and tries again: ")
    blocked.unlink()
    logger.flush()
    assert reports[1] == "the logger goes on"
    assert (blocked / "#ops" / "1970-01-12.log").read_text() == (
        "13:46:40 -- spark-ori joined\n13:46:40 <spark-ori> kept\n"
    )
    logger.close()


def test_what_was_redacted_goes_when_its_file_can_be_written(logs: Path, tmp_path: Path):
    reports: list[str] = []
    logger = Logger(logs, tmp_path, report=reports.append)
    (logs / "#ops").mkdir(parents=True)
    file = logs / "#ops" / "1970-01-01.log"
    in_the_way = logs / "#ops" / ".1970-01-01.log.part"
    in_the_way.mkdir()
    said = EventRecord("m1", 0.0, "PRIVMSG", "#ops", "ori!o@h", None, "oops")
    redaction = EventRecord("m2", 1.0, "REDACT", "#ops", "bo!b@h", None, params=("m1",))
    logger.observe([said, redaction])
    logger.flush()
    assert file.read_text() == "00:00:00 <ori> oops\n"
    assert reports[0].startswith("the logger is behind, and tries again: ")
    logger.close()
    in_the_way.rmdir()
    again = Logger(logs, tmp_path)
    again.flush()
    assert file.read_text() == "00:00:00 -- redacted by bo\n"
    file.unlink()
    again.observe([said, redaction._replace(id="m3")])
    again.flush()
    assert file.read_text() == "00:00:00 -- redacted by bo\n"
    again.close()


def test_nobody_redacts_what_was_said_elsewhere(logs: Path, logger: Logger):
    said = EventRecord("m1", 0.0, "PRIVMSG", "#ops", "ori!o@h", None, "fine")
    logger.observe([said, EventRecord("m2", 1.0, "REDACT", "#other", "bo!b@h", None, params=("m1",))])
    logger.flush()
    assert (logs / "#ops" / "1970-01-01.log").read_text() == "00:00:00 <ori> fine\n"
