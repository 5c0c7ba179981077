"""The log of channels keeps the newest messages of each."""

from pathlib import Path

import pytest

from culture.store import channel_log
from culture.store.channel_log import ChannelLog


def test_messages_are_read_newest_first_by_channel_and_time(tmp_path: Path):
    log = ChannelLog(tmp_path / "channels.db")
    for number in range(3):
        log.append("#Ops", "ori", f"text {number}", 1000 + number, "")
    log.append("#other", "bo", "elsewhere", 5000, "id")

    assert [text for _, text, _, _ in log.newest("#ops", None, 2)] == ["text 2", "text 1"]
    assert log.newest("#ops", 1001, 10) == [("ori", "text 2", 1002, "")]
    assert log.newest("#OTHER", None, 10) == [("bo", "elsewhere", 5000, "id")]
    log.close()


def test_messages_and_channels_survive_a_restart(tmp_path: Path):
    log = ChannelLog(tmp_path / "channels.db")
    log.append("#ops", "ori", "hello", 1, "")
    for name in ("#ops", "#Ops", "#b"):
        log.add_channel(name)
    log.close()

    log = ChannelLog(tmp_path / "channels.db")
    assert log.channels() == ["#b", "#ops"]
    assert len(log.newest("#ops", None, 10)) == 1
    log.close()


def test_old_messages_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(channel_log, "KEPT_MESSAGES", 3)
    monkeypatch.setattr(channel_log, "_TRIM_EVERY", 5)
    log = ChannelLog(tmp_path / "channels.db")
    log.append("#other", "ori", "kept", 1, "")
    for number in range(9):
        log.append("#ops", "ori", str(number), number, "")

    assert [text for _, text, _, _ in log.newest("#ops", None, 100)] == ["8", "7", "6"]
    assert len(log.newest("#other", None, 100)) == 1
    log.close()
