"""culturectl history and culturectl prune, as they are typed."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from culture.protocol.event_record import EventRecord
from culture.store.history import maintenance
from culture.store.history.archive import Archive
from culture.store.history.journal import Segments
from culture.store.history.reading import ALWAYS, BEGINNING, END, View, find_place, window
from culture.store.urls import Reader, Shared, Urls

DAY_S = 86400
NUMBERS = itertools.count(1)


def said(text: str, channel: str = "#ops", at: float = 1000.0) -> EventRecord:
    return EventRecord(
        f"m{text}", at, "PRIVMSG", channel, "ori!o@h", None, text, is_public=True, seq=next(NUMBERS)
    )


def texts(archive: Archive, channel: str = "#ops") -> list[str]:
    with archive.reading() as connection:
        place = find_place(connection, channel)
        views = [View(place[0], [ALWAYS])] if place else []
        rows = window(connection, views, BEGINNING, END, 100, ("PRIVMSG",), latest=False)
    return [row.text for row in rows]


class Place:
    def __init__(self, directory: Path) -> None:
        self.config = directory / "ircd.yaml"
        self.config.write_text(f"state_dir: {directory}/state\n")
        self.directory = directory / "state" / "history"

    def configure(self, text: str) -> None:
        self.config.write_text(self.config.read_text() + text)

    def type(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "culture.ctl.main", *arguments, "--config", str(self.config)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=30, env=os.environ, check=False
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_backup_is_whole_while_the_server_writes_and_can_be_restored(place: Place, tmp_path: Path):
    archive = Archive(place.directory)
    archive.append([said("filed")])
    archive.catch_up()
    archive.append([said("only in the journal")])
    copy = tmp_path / "copy.db"
    assert place.type("history", "backup", str(copy)).returncode == 0
    archive.append([said("later")])
    busy = place.type("history", "restore", str(copy))
    assert busy.returncode == 75
    assert busy.stderr.endswith("hint: systemctl stop culture.target culture-ircd\n")
    archive.close()
    (place.directory / "vectors").write_bytes(b"of other events")
    done = place.type("history", "restore", str(copy))
    assert (done.returncode, done.stdout) == (0, "")
    assert "the previous history is in" in done.stderr
    again = Archive(place.directory)
    again.append([said("after")])
    assert texts(again) == ["filed", "only in the journal", "after"]
    again.close()
    assert place.type("history", "check").returncode == 0
    assert not (place.directory / "vectors").exists()


def test_each_restore_sets_aside_what_was_there_under_a_name_of_its_own(place: Place, tmp_path: Path):
    Archive(place.directory).close()
    maintenance.backup(place.directory, tmp_path / "copy.db")
    asides = [maintenance.restore(place.directory, tmp_path / "copy.db") for _ in range(4)]
    assert len({*asides}) == 4
    assert all((aside / "history.db").exists() for aside in asides)


@pytest.mark.parametrize("name", ["restoring", "lock", "history.db", "vectors", "journal-00000009"])
def test_a_restore_writes_to_nothing_that_a_link_in_the_directory_points_to(
    place: Place, tmp_path: Path, name: str
):
    archive = Archive(place.directory)
    archive.append([said("kept")])
    archive.catch_up()
    archive.close()
    maintenance.backup(place.directory, tmp_path / "copy.db")
    victim = tmp_path / "shadow"
    victim.write_text("root:*:1::::::")
    victim.chmod(0o640)
    (place.directory / name).unlink(missing_ok=True)
    (place.directory / name).symlink_to(victim)

    done = place.type("history", "restore", str(tmp_path / "copy.db"))

    assert victim.read_text() == "root:*:1::::::"
    assert victim.stat().st_mode & 0o777 == 0o640
    assert (done.returncode == 0) is (name != "lock"), done.stderr
    if name != "lock":
        again = Archive(place.directory)
        assert texts(again) == ["kept"]
        again.close()


def test_a_backup_that_is_a_link_is_not_restored(place: Place, tmp_path: Path):
    Archive(place.directory).close()
    maintenance.backup(place.directory, tmp_path / "copy.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "copy.db")
    refused = place.type("history", "restore", str(tmp_path / "link.db"))
    assert (refused.returncode, refused.stdout) == (64, "")
    assert f"'{tmp_path}/link.db' is a symbolic link" in refused.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="a link of another user is made by root")
def test_a_directory_that_is_a_link_of_another_user_is_not_restored_into(place: Place, tmp_path: Path):
    Archive(tmp_path / "elsewhere").close()
    maintenance.backup(tmp_path / "elsewhere", tmp_path / "copy.db")
    before = {path.name for path in (tmp_path / "elsewhere").iterdir()}
    place.directory.parent.mkdir()
    place.directory.symlink_to(tmp_path / "elsewhere")
    os.chown(place.directory, 12345, 12345, follow_symlinks=False)
    refused = place.type("history", "restore", str(tmp_path / "copy.db"))
    assert refused.returncode == 69
    assert "it is a symbolic link of another user" in refused.stderr
    assert {path.name for path in (tmp_path / "elsewhere").iterdir()} == before
    os.chown(place.directory, 0, 0, follow_symlinks=False)
    assert place.type("history", "restore", str(tmp_path / "copy.db")).returncode == 0


@pytest.mark.parametrize(("where", "why"), [("none/b", "No such file or directory"), ("f/b", "Not a dir")])
def test_a_backup_that_cannot_be_written_blames_its_own_file(
    place: Place, tmp_path: Path, where: str, why: str
):
    Archive(place.directory).close()
    (tmp_path / "f").touch()
    done = place.type("history", "backup", f"{tmp_path}/{where}")
    assert done.returncode == 69
    assert done.stderr.startswith(f"culturectl: cannot write '{tmp_path}/{where}': {why}")


def test_a_backup_without_room_blames_its_own_disk_and_leaves_nothing_there(small_disk: Path, tmp_path: Path):
    place = Place(tmp_path)
    archive = Archive(place.directory)
    archive.append([said("y" * 400 + str(number)) for number in range(10_000)])
    archive.catch_up()
    archive.close()
    done = place.type("history", "backup", f"{small_disk}/b.db")
    assert done.stderr == f"culturectl: cannot write '{small_disk}/b.db': No space left on device\n"
    assert not [*small_disk.iterdir()]


def test_a_check_does_not_mind_a_file_of_the_journal_that_goes_meanwhile(place: Place):
    Archive(place.directory).close()
    # It is listed, and gone when it is read.
    Segments(place.directory).path(7).symlink_to("gone")
    assert Segments(place.directory).segments()[-1] == 7
    assert maintenance.check(place.directory) == []


def test_a_backup_may_have_any_name(place: Place, tmp_path: Path):
    Archive(place.directory).close()
    copy = tmp_path / "b%41#x?.db"
    assert place.type("history", "backup", str(copy)).returncode == 0
    assert place.type("history", "restore", str(copy)).returncode == 0


def test_a_backup_has_what_came_after_a_file_of_the_journal_was_removed(place: Place, tmp_path: Path):
    archive = Archive(place.directory)
    archive.append([said("filed")])
    archive.forget()
    archive.catch_up()
    archive.tidy()
    assert archive.journal.segments() == [2]
    archive.append([said("only in the journal")])
    assert place.type("history", "backup", str(tmp_path / "copy.db")).returncode == 0
    archive.close()
    assert place.type("history", "restore", str(tmp_path / "copy.db")).returncode == 0
    again = Archive(place.directory)
    assert texts(again) == ["filed", "only in the journal"]
    # Its journal begins behind that of the backup.
    again.append([said("after")])
    lines = place.type("history", "export").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["filed", "only in the journal", "after"]
    again.close()


def test_export_is_json_in_lines(place: Place):
    archive = Archive(place.directory)
    archive.append([said("one")])
    archive.catch_up()
    # It may still be in the journal alone.
    archive.append([said("two", "#dev")])
    lines = place.type("history", "export").stdout.splitlines()
    assert json.loads(lines[0]) == {
        "time": 1000.0,
        "msgid": "mone",
        "command": "PRIVMSG",
        "target": "#ops",
        "source": "ori!o@h",
        "public": True,
        "text": "one",
    }
    assert [json.loads(line)["text"] for line in lines] == ["one", "two"]
    only = place.type("history", "export", "--channel", "#DEV").stdout
    assert json.loads(only)["text"] == "two"
    archive.close()


def test_export_is_utf_8_wherever_it_is_typed(place: Place, monkeypatch: pytest.MonkeyPatch):
    archive = Archive(place.directory)
    archive.append([said("☃")])
    archive.close()
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    assert json.loads(place.type("history", "export").stdout)["text"] == "☃"


def test_a_restore_without_room_changes_nothing(small_disk: Path, tmp_path: Path):
    place = Place(tmp_path)
    place.directory = small_disk / "state" / "history"
    place.config.write_text(f"state_dir: {small_disk}/state\n")
    archive = Archive(place.directory)
    archive.append([said("y" * 400 + str(number)) for number in range(500)])
    copy = tmp_path / "copy.db"
    assert place.type("history", "backup", str(copy)).returncode == 0
    archive.close()
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    full = place.type("history", "restore", str(copy))
    assert full.returncode == 69
    assert full.stderr == f"culturectl: cannot write to '{place.directory}': No space left on device\n"
    ballast.unlink()
    again = Archive(place.directory)
    assert len(texts(again)) == 100
    again.close()


def test_a_backup_is_restored_from_a_disk_that_is_read_only_and_left_as_it_is(
    small_disk: Path, tmp_path: Path
):
    place = Place(tmp_path)
    archive = Archive(place.directory)
    archive.append([said("kept")])
    copy = small_disk / "50% of it?.db"
    assert place.type("history", "backup", str(copy)).returncode == 0
    archive.close()
    assert place.type("history", "restore", str(copy)).returncode == 0
    assert [*small_disk.iterdir()] == [copy]
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other")
    assert other.type("history", "restore", str(copy)).returncode == 0
    again = Archive(other.directory)
    assert texts(again) == ["kept"]
    again.close()


def test_a_check_finds_what_is_damaged(place: Place):
    archive = Archive(place.directory)
    archive.append([said(str(number)) for number in range(3000)])
    archive.catch_up()
    archive.close()
    assert place.type("history", "check").stdout == ""
    with (place.directory / "history.db").open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xff" * 4096)
    with (place.directory / "journal-00000001").open("ab") as file:
        file.write(b"nonsense\n")
    done = place.type("history", "check")
    assert done.returncode == 1
    assert "history.db" in done.stdout
    assert "journal-00000001: no entry before byte" in done.stdout


def test_an_index_that_is_not_that_of_the_messages_is_found_and_mended(place: Place):
    archive = Archive(place.directory)
    archive.append([said("kept")])
    archive.catch_up()
    archive.index_for(5)
    with archive.reading() as connection:
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    found = place.type("history", "check")
    assert (found.returncode, found.stdout.splitlines()) == (
        1,
        [
            "history.db: the full-text index lacks 1 messages",
            "history.db: messages are intact; 'culturectl history reindex' repairs the rest",
        ],
    )
    done = place.type("history", "reindex")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "search results are incomplete until the server has indexed all messages\n"
    archive.index_for(5)
    with archive.reading() as connection:
        assert connection.execute("SELECT rowid FROM words WHERE words MATCH 'kept'").fetchall() == [(1,)]
    archive.close()
    assert place.type("history", "check").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["history", "check"], 66, "there is no"),
        (["history", "export"], 66, "history.db'\nhint: the server creates it on its first run"),
        (["history", "backup"], 64, "history backup needs a file"),
        (["history", "check", "x"], 64, "history check takes no file"),
        (["history", "check", "--channel", "#a"], 64, "history check takes no --channel"),
        (["history", "restore", "/none"], 66, "there is no '/none'"),
        (["history", "restore", "/etc/hostname"], 64, "'/etc/hostname' is not a backup of a history"),
        (["history", "backup", "/etc/hostname"], 64, "'/etc/hostname' exists already"),
    ],
)
def test_mistakes_are_told(place: Place, arguments: list[str], status: int, told: str):
    done = place.type(*arguments)
    assert done.returncode == status
    assert told in done.stdout + done.stderr


def test_prune_keeps_what_the_configuration_says(place: Place):
    place.configure(
        "history:\n  keep_days: 7\n  channels: [{name: '#Few', keep_messages: 2}, {name: '#all'}]\n"
    )
    archive = Archive(place.directory)
    now = time.time()
    for channel in ("#ops", "#few", "#all"):
        archive.append([said(f"{age}", channel, now - age * DAY_S) for age in (30, 8, 6, 1)])
    archive.catch_up()
    archive.index_for(5)
    done = place.type("prune")
    assert (done.returncode, done.stderr) == (0, "4 events deleted from history\n")
    assert texts(archive, "#ops") == ["6", "1"]
    assert texts(archive, "#few") == ["6", "1"]
    assert texts(archive, "#all") == ["30", "8", "6", "1"]
    with archive.reading() as connection:
        (left,) = connection.execute("SELECT count(*) FROM words WHERE words MATCH '\"30\"'").fetchone()
    assert left == 1
    archive.close()
    assert place.type("prune").stderr == "0 events deleted from history\n"


def test_prune_forgets_links_of_the_same_age(place: Place):
    place.configure("history:\n  keep_days: 7\n  channels: [{name: '#All'}]\n")
    urls, now = Urls(place.directory.parent / "urlindex"), time.time()
    urls.add(
        Shared(f"https://{age}.example", channel, f"{channel}{age}", True, "ori", now - age * DAY_S)
        for channel in ("#ops", "#all")
        for age in (8, 6)
    )
    assert place.type("prune").stderr == "1 mentions of links deleted\n"
    found = urls.find(Reader({}, ()), None, "", 100)
    assert {(link.channel, link.url) for link in found} == {
        ("#ops", "https://6.example"),
        ("#all", "https://6.example"),
        ("#all", "https://8.example"),
    }


def test_where_there_is_no_history_there_is_nothing_to_prune(place: Place):
    assert place.type("prune").returncode == 0
