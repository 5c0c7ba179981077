"""The archive: exactly once, also after a crash, on a full disk and with a damaged file."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from culture.errors import TemporaryError, UnavailableError
from culture.names import fold
from culture.protocol.parties import parse_party
from culture.store.database import MIGRATIONS, prepare, reading, transaction
from culture.store.history import journal
from culture.store.history.archive import FILE, Archive
from culture.store.history.reading import (
    ALWAYS,
    BEGINNING,
    END,
    Recorded,
    View,
    conversations,
    find_place,
    was_called,
    window,
)

DEADLINE_S = 20.0


def said(number: int, text: str | None = None, channel: str = "#ops") -> tuple[object, ...]:
    text = f"text {number}" if text is None else text
    head = (f"m{number}", 1000.0 + number, "PRIVMSG", channel, "ori!o@h", None, text)
    return (*head, {}, True, None, (), (), "", number + 1, "", False, "*", "")


def rows(archive: Archive, channel: str = "#ops", most: int = 100_000) -> list[Recorded]:
    with archive.reading() as connection:
        place = find_place(connection, channel)
        if place is None:
            return []
        view = View(place[0], [ALWAYS])
        return window(connection, [view], BEGINNING, END, most, ("PRIVMSG",), latest=False)


def texts(archive: Archive) -> list[str]:
    return [row.text for row in rows(archive)]


def test_what_was_appended_can_be_read_at_once(tmp_path: Path):
    archive = Archive(tmp_path)
    for number in range(3):
        archive.append([said(number)])
        assert len(rows(archive)) == number + 1
    archive.close()


def prepare_old(directory: Path, version: int) -> None:
    """A database as an earlier version has it."""
    (directory / "migrations").mkdir()
    for script in sorted((MIGRATIONS / "history").glob("*.sql"))[:version]:
        shutil.copy(script, directory / "migrations")
    prepare(directory / FILE, directory / "migrations")


def test_the_nick_that_an_end_had_is_known_after_an_upgrade(tmp_path: Path):
    prepare_old(tmp_path, 4)
    with transaction(tmp_path / FILE) as database:
        database.execute("INSERT INTO places VALUES (1, 'account:bo account:ori', '')")
        database.executemany(
            "INSERT INTO ends VALUES (?, 1, ?)", [("account:bo", r"Bo[~]\x"), ("account:ori", "ori")]
        )
    archive = Archive(tmp_path)
    with archive.reading() as connection:
        (talk,) = conversations(connection, [parse_party("account:ori")])
        assert was_called(connection, talk, fold(r"Bo[~]\x"))
        assert not was_called(connection, talk, fold("ori"))
    archive.close()


def test_direct_messages_of_an_earlier_version_are_read_by_accounts_and_by_no_nick(tmp_path: Path):
    prepare_old(tmp_path, 7)
    event = "INSERT INTO events VALUES (?, 1, ?, ?, 1, ?, 'PRIVMSG', ?, 0, 0, ?, ?, NULL, NULL, NULL, 0)"
    with transaction(tmp_path / FILE) as database:
        database.execute("INSERT INTO origins VALUES (1, '')")
        database.executemany(
            "INSERT INTO sources VALUES (?, ?, ?)", [(1, "ori!o@h", "ori"), (2, "bo!b@h", "")]
        )
        database.execute("INSERT INTO places VALUES (1, 'account:ori nick:bo', '')")
        database.executemany("INSERT INTO ends VALUES (?, 1, ?)", [("account:ori", "ori"), ("nick:bo", "bo")])
        database.executemany(event, [(1, 1000, "m1", 1, 1, "bo", "one"), (2, 2000, "m2", 2, 2, "ori", "two")])
    archive = Archive(tmp_path)
    ori, bo = parse_party("account:ori"), parse_party("nick:bo")
    new = said(9)
    archive.append([(*new[:9], (ori, parse_party("session:5f0c")), *new[10:-1], "")])
    with archive.reading() as connection:
        old, *others = conversations(connection, [ori])
        assert (old.other, len(others)) == (bo, 1)
        rows = window(connection, [View(old.place, [ALWAYS])], BEGINNING, END, 9, ("PRIVMSG",), latest=False)
        assert [(row.text, row.author) for row in rows] == [("one", ori), ("two", bo)]
    assert not bo.can_be_proved
    archive.close()


def test_a_key_that_was_filed_as_public_is_not(tmp_path: Path):
    prepare_old(tmp_path, 3)
    event = "INSERT INTO events VALUES (?, 1, 1, '', 1, ?, 'MODE', 1, 1, 0, NULL, '', NULL, ?, NULL, 0)"
    with transaction(tmp_path / FILE) as database:
        database.executemany(event, [(1, 1, '["+mk", "sesame"]'), (2, 2, '["+b", "k!*@*"]')])
    Archive(tmp_path).close()
    with reading(tmp_path / FILE) as database:
        assert database.execute("SELECT id FROM events WHERE is_public").fetchall() == [(2,)]


def test_what_got_the_number_of_something_pruned_is_found_after_an_upgrade(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1), said(2)])
    archive.catch_up()
    archive.close()
    # As if five had been indexed, and pruned.
    with transaction(tmp_path / FILE) as database:
        database.execute("INSERT INTO marks VALUES ('words', 0, 5), ('numbers', 0, 3)")
        database.execute("PRAGMA user_version = 6")
    again = Archive(tmp_path)
    redact = list(said(3, ""))
    redact[2], redact[11] = "REDACT", ("m1",)
    again.append([tuple(redact), said(4)])
    again.catch_up()
    again.index_for(DEADLINE_S)
    with again.reading() as connection:
        found = connection.execute("SELECT rowid FROM words WHERE words MATCH 'text : text'").fetchall()
    assert found == [(2,), (7,)]
    again.close()


def test_after_a_crash_everything_is_there_exactly_once(tmp_path: Path):
    crashed = Archive(tmp_path)
    crashed.append([said(number) for number in range(700)])
    crashed.catch_up()
    crashed.append([said(number) for number in range(700, 1500)])
    # Nothing is closed, only the lock goes with the process, and half of it was filed.
    os.close(crashed.journal._lock)
    again = Archive(tmp_path)
    again.append([said(1500)])
    assert texts(again) == [f"text {number}" for number in range(1501)]
    with again.reading() as connection:
        numbers = [seq for (seq,) in connection.execute("SELECT seq FROM events ORDER BY id")]
    assert numbers == list(range(1, 1502))
    again.close()
    crashed._connection.close()


@pytest.mark.parametrize("number", [{"seq": 1 << 63}, {"at": 1e300}, {"at": -1e300}])
def test_what_no_row_can_hold_is_reported_and_stepped_over(tmp_path: Path, number: dict[str, float]):
    reported: list[str] = []
    archive = Archive(tmp_path, report=reported.append)
    _, _, *middle = said(1)
    middle[11] = number.get("seq", 2)
    archive.append([said(0), ("m1", number.get("at", 1.0), *middle), said(2)])
    assert texts(archive) == ["text 0", "text 2"]
    assert reported == [f"unreadable lines in '{tmp_path}/journal-*': 1"]
    archive.close()


def test_two_servers_do_not_share_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "LOCK_S", 0.0)
    archive = Archive(tmp_path)
    with pytest.raises(TemporaryError, match="another process uses"):
        Archive(tmp_path)
    archive.close()


def test_it_is_filed_and_indexed_behind_the_traffic(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.start()
    archive.append([said(number) for number in range(50)])
    deadline = time.monotonic() + DEADLINE_S
    query = "SELECT count(*) FROM words WHERE words MATCH 'text : text'"
    with archive.reading() as connection:
        while connection.execute(query).fetchone() != (50,):
            assert time.monotonic() < deadline
    archive.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_noticed(tmp_path: Path):
    # A line that is none is reported, and whoever is told ends the thread.
    (tmp_path / "journal-00000001").write_bytes(b"no entry\n")
    archive = Archive(tmp_path, report=sys.exit)
    assert archive.is_alive
    archive.start()
    deadline = time.monotonic() + DEADLINE_S
    while archive.is_alive:
        assert time.monotonic() < deadline
    archive.close()


def test_files_of_the_journal_go_when_they_are_filed(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1)])
    archive.journal.begin_segment()
    archive.append([said(2)])
    archive.catch_up()
    archive.tidy()
    assert archive.journal.segments() == [2]
    assert texts(archive) == ["text 1", "text 2"]
    archive.close()


def test_a_damaged_file_is_set_aside_and_named(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1)])
    archive.catch_up()
    archive.close()
    (tmp_path / FILE).write_bytes(b"not a database " * 1000)
    (tmp_path / "vectors").write_bytes(b"of events in it")
    reports: list[str] = []
    again = Archive(tmp_path, report=reports.append, clock=lambda: 0.0)
    aside = tmp_path / "history.db.damaged-19700101T000000"
    assert aside.read_bytes().startswith(b"not a database")
    assert reports[-1] == f"a damaged file was set aside as '{aside}'"
    assert not (tmp_path / "vectors").exists()
    # What the journal still has is not lost with it.
    again.append([said(2)])
    assert texts(again) == ["text 1", "text 2"]
    again.close()


def test_what_was_set_aside_in_the_same_second_stays(tmp_path: Path):
    for number in range(3):
        (tmp_path / FILE).write_bytes(b"%d is not a database " % number * 1000)
        Archive(tmp_path, clock=lambda: 0.0).close()
    asides = sorted(tmp_path.glob("history.db.damaged-19700101T000000*"))
    assert [aside.read_bytes()[:1] for aside in asides] == [b"0", b"1", b"2"]


def test_a_file_that_is_damaged_while_in_use_is_set_aside_too(tmp_path: Path):
    reports: list[str] = []
    archive = Archive(tmp_path, report=reports.append)
    archive.append([said(number) for number in range(2000)])
    archive.catch_up()
    archive.tidy()
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 40)
    archive._connection.execute("PRAGMA cache_size = 0")
    archive.append([said(2000)])
    with pytest.raises(UnavailableError):
        archive.catch_up()
    assert len(rows(archive)) == 2001
    assert "set aside as" in reports[-1]
    assert len(list(tmp_path.glob("history.db.damaged-*"))) >= 1
    archive.close()


def fill(archive: Archive) -> int:
    """How many messages there was room for."""
    for number in range(10_000):
        try:
            archive.append([said(number, "y" * 400)])
        except UnavailableError:
            return number
    raise AssertionError("the disk is never full")


def test_a_full_disk_refuses_and_heals_when_space_returns(small_disk: Path):
    reports: list[str] = []
    archive = Archive(small_disk / "history", report=reports.append)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 3_500_000)
    kept = fill(archive)
    with pytest.raises(UnavailableError, match="No space left on device"):
        archive.append([said(kept, "y" * 4000)])
    with pytest.raises(UnavailableError):
        rows(archive)
    ballast.unlink()
    archive.append([said(kept, "back")])
    assert [row.msgid for row in rows(archive)] == [f"m{number}" for number in range(kept + 1)]
    archive.close()
