"""An index of words that is damaged: made anew, and nothing but it."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from culture.errors import UnavailableError, UsageError
from culture.protocol.event_record import EventRecord
from culture.store.history import archive as archive_module
from culture.store.history.archive import FILE, Archive
from culture.store.history.index_repair import begin_index_anew
from culture.store.history.indexing import index
from culture.store.history.maintenance import backup, check, opened, reindex, restore

MANY = 3000
DEADLINE_S = 20.0
# The record of the parts that the index has: it says that there are none.
FORGET_SEGMENTS = "UPDATE words_data SET block = zeroblob(7) WHERE id = 10"


def said(number: int, command: str = "PRIVMSG", about: tuple[str, ...] = ()) -> EventRecord:
    text = f"text {number}"
    return EventRecord(
        f"m{number}", 1000.0 + number, command, "#ops", "ori!o@h", None, text, params=about, seq=number + 1
    )


def pages_of(path: Path, table: str) -> list[int]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'"
        return [page for (page,) in connection.execute(query, (table,))]


def damage(where: Path, table: str) -> None:
    path = where / FILE if where.is_dir() else where
    with path.open("r+b") as file:
        for page in pages_of(path, table):
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)


def spoil(directory: Path, change: str) -> None:
    with contextlib.closing(sqlite3.connect(directory / FILE)) as connection, connection:
        connection.execute(change)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Of a history that is filed, indexed and closed."""
    archive = Archive(tmp_path)
    archive.append([said(number) for number in range(MANY)])
    archive.catch_up()
    archive.index_for(DEADLINE_S)
    archive.tidy()
    archive.close()
    return tmp_path


def found(archive: Archive) -> int:
    with archive.reading() as connection:
        query = "SELECT count(*) FROM words WHERE words MATCH 'text : text'"
        (count,) = connection.execute(query).fetchone()
    return int(count)


def events(archive: Archive) -> int:
    with archive.reading() as connection:
        (count,) = connection.execute("SELECT count(*) FROM events WHERE NOT is_redacted").fetchone()
    return int(count)


def test_a_search_that_finds_the_index_damaged_has_it_made_anew(directory: Path):
    damage(directory, "words_data")
    reports: list[str] = []
    archive = Archive(directory, report=reports.append)
    with pytest.raises(UnavailableError, match="cannot"):
        found(archive)
    assert reports == [f"the full-text index in '{directory / FILE}' was damaged and is being rebuilt"]
    archive.index_for(DEADLINE_S)
    assert (events(archive), found(archive)) == (MANY, MANY)
    archive.close()
    assert check(directory) == []
    assert not list(directory.glob("*damaged*"))


def test_a_redaction_that_finds_the_index_damaged_has_it_made_anew(directory: Path):
    damage(directory, "words_data")
    damage(directory, "words_docsize")
    reports: list[str] = []
    archive = Archive(directory, report=reports.append)
    archive.append([said(MANY, "REDACT", ("m7",))])
    archive.catch_up()
    archive.index_for(DEADLINE_S)
    # One was taken back, and that is an event too.
    assert (len(reports), events(archive), found(archive)) == (1, MANY, MANY - 1)
    archive.close()
    assert check(directory) == []


def test_an_index_whose_tables_do_not_fit_each_other_is_made_anew(directory: Path):
    spoil(directory, FORGET_SEGMENTS)
    reports: list[str] = []
    archive = Archive(directory, report=reports.append)
    for number in range(MANY, MANY + 600):
        archive.append([said(number), said(2 * number, "REDACT", (f"m{number - MANY}",))])
    archive.catch_up()
    archive.index_for(DEADLINE_S)
    archive.index_for(DEADLINE_S)
    assert (len(reports), found(archive)) == (1, MANY)
    archive.close()
    assert check(directory) == []


def test_an_index_that_is_damaged_where_it_grows_is_made_anew(directory: Path):
    damage(directory, "words_data")
    archive = Archive(directory)
    archive.append([said(MANY)])
    archive.catch_up()
    archive.index_for(DEADLINE_S)
    archive.index_for(DEADLINE_S)
    assert found(archive) == MANY + 1
    archive.close()


def test_an_index_that_is_damaged_again_at_once_is_made_anew_a_minute_later(
    directory: Path, monkeypatch: pytest.MonkeyPatch
):
    reports: list[str] = []
    archive = Archive(directory, report=reports.append)
    for _ in range(3):
        archive.tidy()
        damage(directory, "words_data")
        damage(directory, "words_docsize")
        for reader in (archive._connection, *archive._readers):
            reader.execute("PRAGMA cache_size = 0")
        with contextlib.suppress(UnavailableError):
            found(archive)
    archive.append([said(MANY, "REDACT", ("m7",))])
    with pytest.raises(UnavailableError, match="cannot"):
        archive.catch_up()
    assert len(reports) == 1
    monkeypatch.setattr(archive_module, "MEND_EVERY_S", 0.0)
    archive.catch_up()
    assert (len(reports), events(archive)) == (2, MANY)
    archive.close()


def test_a_backup_of_which_only_the_index_is_damaged_is_restored(directory: Path, tmp_path: Path):
    for table in ("words_data", "words_idx"):
        damage(directory, table)
    backup(directory, tmp_path / "copy.db")
    restore(tmp_path / "new", tmp_path / "copy.db")
    archive = Archive(tmp_path / "new")
    with pytest.raises(UnavailableError, match="cannot"):
        found(archive)
    archive.index_for(DEADLINE_S)
    assert found(archive) == MANY
    archive.close()


def test_a_backup_that_is_damaged_otherwise_is_not_restored(directory: Path, tmp_path: Path):
    backup(directory, tmp_path / "copy.db")
    damage(tmp_path / "copy.db", "events")
    with pytest.raises(UsageError, match="is damaged"):
        restore(tmp_path / "new", tmp_path / "copy.db")


def test_a_mending_that_was_cut_short_is_ended_by_the_next(directory: Path):
    with opened(directory) as connection:
        begin_index_anew(connection)
    *_, how = check(directory)
    assert "'culturectl history reindex' repairs" in how
    reindex(directory)
    assert check(directory) == []


def test_where_more_than_the_index_is_damaged_it_is_set_aside(directory: Path):
    damage(directory, "words_docsize")
    damage(directory, "sources")
    archive = Archive(directory)
    archive.append([said(MANY, "REDACT", ("m7",))])
    with pytest.raises(UnavailableError, match="cannot"):
        archive.catch_up()
    archive.close()
    (aside,) = directory.glob("history.db.damaged-*")
    aside.replace(directory / FILE)
    with pytest.raises(UnavailableError, match="damaged than its full-text index"):
        reindex(directory)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("INSERT INTO words (rowid, text, about) VALUES (99999, 'ghost', 'p1')", "has 1 messages that"),
        (
            "INSERT INTO words (words, rowid, text, about) VALUES ('delete', 5, 'text 4', 'p1 n6f7269')",
            "lacks 1 messages",
        ),
        ("DELETE FROM events WHERE id = 5", "has 1 messages that are gone"),
        ("DELETE FROM words_docsize WHERE id = 5", "lacks 1 messages"),
        ("UPDATE words_data SET block = zeroblob(20) WHERE id > 1000", "is damaged"),
        (FORGET_SEGMENTS, f"lacks {MANY} messages"),
    ],
)
def test_a_check_says_what_is_wrong_with_the_index_and_how_it_is_mended(
    directory: Path, change: str, told: str
):
    spoil(directory, change)
    flaw, how = check(directory)
    assert flaw.startswith("history.db: the full-text index ")
    assert told in flaw
    assert how == "history.db: messages are intact; 'culturectl history reindex' repairs the rest"


def test_an_index_is_made_anew_while_a_server_uses_it(directory: Path):
    spoil(directory, "INSERT INTO words (rowid, text, about) VALUES (99999, 'text ghost', 'p1')")
    archive = Archive(directory)
    assert found(archive) == MANY + 1
    reindex(directory)
    assert found(archive) == 0
    # Killed half way, it goes on where it was.
    archive.append([said(MANY)])
    archive.catch_up()
    with archive._transaction() as connection:
        index(connection, 100)
    assert check(directory) == []
    archive.index_for(DEADLINE_S)
    assert found(archive) == MANY + 1
    archive.close()
    assert check(directory) == []
