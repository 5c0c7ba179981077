"""sd_notify(3), sd_watchdog_enabled(3), credentials, and the fields of log entries."""

import asyncio
import contextlib
import os
import socket
from pathlib import Path

import pytest

from culture.errors import ConfigError
from culture.systemd.credentials import DIRECTORY_IDS, agent_directory, read_credential
from culture.systemd.journal import FIELDS, MESSAGE_IDS, fields
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield manager


def test_the_manager_hears_what_is_said(manager: socket.socket):
    notifier = Notifier(os.environ)
    notifier.ready("idle")
    notifier.status("idle")
    notifier.status("busy")
    notifier.stopping("bye")
    notifier.close()
    heard = [manager.recv(4096) for _ in range(3)]
    assert heard == [b"READY=1\nSTATUS=idle", b"STATUS=busy", b"STOPPING=1\nSTATUS=bye"]


def test_without_a_manager_nothing_happens():
    notifier = Notifier({})
    notifier.ready("idle")
    notifier.alive()
    notifier.close()


async def test_the_watchdog_is_fed_only_while_the_program_does_its_work(manager: socket.socket):
    manager.setblocking(False)
    loop = asyncio.get_running_loop()
    asked = 0
    notifier = Notifier(os.environ)

    def is_alive() -> bool:
        nonlocal asked
        asked += 1
        if asked <= 10:
            with pytest.raises(BlockingIOError):
                manager.recv(4096)
        return asked > 10

    feeding = asyncio.create_task(keep_alive(notifier, 0.001, is_alive))
    assert await asyncio.wait_for(loop.sock_recv(manager, 4096), 5) == b"WATCHDOG=1"
    assert asked > 10
    feeding.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await feeding
    notifier.close()


@pytest.mark.parametrize(
    ("env", "interval_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 1.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"}, 1.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
    ],
)
def test_the_watchdogs_interval(env: dict[str, str], interval_s: float | None):
    assert watchdog_interval_s(env, pid=7) == interval_s


def test_a_credential_is_read_from_where_the_manager_put_it(tmp_path: Path):
    (tmp_path / "culture_key").write_text("s3cret\n")
    assert read_credential("key", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == "s3cret"
    with pytest.raises(ConfigError, match="is not in"):
        read_credential("other", {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    with pytest.raises(ConfigError, match="CREDENTIALS_DIRECTORY"):
        read_credential("key", {})


def test_a_credential_that_was_encrypted_is_read_too(tmp_path: Path):
    (tmp_path / "secret_key").write_text("s3cret\n")
    assert read_credential("key", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == "s3cret"


@pytest.mark.parametrize("name", DIRECTORY_IDS)
def test_the_word_none_in_place_of_a_directory_is_no_credential(tmp_path: Path, name: str):
    (tmp_path / name).write_text("none")
    with pytest.raises(ConfigError, match=f"credential '{name}': is not in") as raised:
        read_credential(name, {"CREDENTIALS_DIRECTORY": str(tmp_path)}, agent_directory("spark-claude"))
    assert f"/etc/culture/credentials/agents/spark-claude/{name}" in (raised.value.problems[0].hint or "")


def test_a_credential_that_is_no_text_is_told(tmp_path: Path):
    (tmp_path / "key").write_bytes(b"s3cr\xe9t")
    with pytest.raises(ConfigError, match="credential 'key': is not UTF-8 at byte 4"):
        read_credential("key", {"CREDENTIALS_DIRECTORY": str(tmp_path)})


def test_only_documented_fields_are_logged():
    assert fields("turn-began", nick="spark-claude", turn=None) == {
        "MESSAGE_ID": MESSAGE_IDS["turn-began"],
        "CULTURE_NICK": "spark-claude",
    }
    with pytest.raises(KeyError, match="CULTURE_SECRET"):
        fields(secret="x")
    assert all(name.startswith("CULTURE_") for name in FIELDS)
    assert len(set(MESSAGE_IDS.values())) == len(MESSAGE_IDS)
    assert all(len(value) == 32 and int(value, 16) for value in MESSAGE_IDS.values())
