"""Accounts at rest: made, verified, changed, and shared by processes."""

import contextlib
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from culture.errors import NoInputError, UnavailableError, UsageError
from culture.store.accounts import AccountExistsError, Accounts
from culture.store.database import prepare, reading, transaction
from culture.store.passwords import (
    Cost,
    format_scram,
    hash_password,
    is_password,
    parse_scram,
    prepared,
    scram_secret,
)

CHEAP = Cost(scrypt_n=16, scram_iterations=4096)


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return Accounts(tmp_path / "state" / "accounts.db", cost=CHEAP, clock=lambda: 1000.0)


def test_a_password_is_verified_and_the_name_comes_back_as_it_is_written(accounts: Accounts):
    accounts.add("Ori[]", "sesame")
    assert accounts.verify("ori{}", "sesame") == "Ori[]"
    assert accounts.verify("Ori[]", "Sesame") is None
    assert accounts.verify("bo", "sesame") is None


def test_a_name_is_taken_whatever_its_case(accounts: Accounts):
    accounts.add("ori", "a")
    with pytest.raises(AccountExistsError, match="'ORI'"):
        accounts.add("ORI", "b")
    assert accounts.verify("ori", "a") == "ori"


@pytest.mark.parametrize(
    ("name", "password"),
    [("", "x"), ("a b", "x"), ("9a", "x"), ("x" * 65, "x"), ("ori", ""), ("ori", "a\0b")],
)
def test_what_cannot_be_typed_is_refused(accounts: Accounts, name: str, password: str):
    with pytest.raises(UsageError):
        accounts.add(name, password)
    assert accounts.list() == []


def test_on_a_full_disk_people_log_in_and_the_server_starts(small_disk: Path):
    path = small_disk / "accounts.db"
    accounts = Accounts(path, cost=CHEAP)
    accounts.add("ori", "sesame")
    fill(small_disk)
    assert accounts.verify("ori", "sesame") == "ori"
    assert Accounts(path, cost=CHEAP).find("bo") is None
    with pytest.raises(UnavailableError, match="disk is full"):
        accounts.add("bo", "pencil")


def test_a_full_disk_is_called_that_where_sqlite_has_another_word(small_disk: Path):
    prepare(small_disk / "other.db")
    fill(small_disk)
    with pytest.raises(UnavailableError, match=r"cannot use '.*/other.db': the disk is full"):
        prepare(small_disk / "other.db")


def test_a_file_with_a_log_beside_it_is_taken_over(tmp_path: Path):
    prepare(tmp_path / "accounts.db", journal="WAL")
    accounts = Accounts(tmp_path / "accounts.db", cost=CHEAP)
    accounts.add("ori", "sesame")
    with reading(tmp_path / "accounts.db") as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def test_a_password_is_changed_and_an_account_removed(accounts: Accounts):
    accounts.add("ori", "old")
    accounts.set_password("ORI", "new")
    assert accounts.verify("ori", "old") is None
    assert accounts.verify("ori", "new") == "ori"
    accounts.remove("Ori")
    assert accounts.verify("ori", "new") is None
    for act in (lambda: accounts.remove("ori"), lambda: accounts.set_password("ori", "x")):
        with pytest.raises(NoInputError, match="no account 'ori'"):
            act()


def test_another_process_sees_what_was_made(accounts: Accounts, tmp_path: Path):
    other = Accounts(tmp_path / "state" / "accounts.db", cost=CHEAP)
    accounts.add("ori", "sesame")
    assert [account.name for account in other.list()] == ["ori"]
    assert other.verify("ori", "sesame") == "ori"


def test_many_at_once_wait_for_each_other(tmp_path: Path):
    def add(number: int) -> None:
        Accounts(tmp_path / "accounts.db", cost=CHEAP).add(f"a{number}", "x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    assert len(Accounts(tmp_path / "accounts.db", cost=CHEAP).list()) == 24


def test_nobody_else_reads_the_file_and_no_password_is_in_it(accounts: Accounts, tmp_path: Path):
    accounts.add("ori", "open-sesame")
    for path in (tmp_path / "state").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"open-sesame" not in path.read_bytes()


def test_a_file_that_is_no_database_is_an_error_of_ours(tmp_path: Path):
    (tmp_path / "accounts.db").write_text("something else " * 100)
    with pytest.raises(UnavailableError, match=r"accounts\.db"):
        Accounts(tmp_path / "accounts.db")


def test_tables_are_strict(accounts: Accounts, tmp_path: Path):
    database = sqlite3.connect(tmp_path / "state" / "accounts.db")
    tables = database.execute("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'")
    assert {strict for _, strict in tables.fetchall()} == {1}
    database.close()


def test_a_certificate_belongs_to_an_account_for_as_long_as_it_exists(accounts: Accounts):
    accounts.add("ori", "x")
    accounts.add_certificate("ORI", "ab" * 32)
    assert accounts.of_certificate("ab" * 32) == "ori"
    accounts.remove("ori")
    assert accounts.of_certificate("ab" * 32) is None


def test_nobody_looks_like_somebody_to_scram(accounts: Accounts):
    accounts.add("ori", "x")
    (name, real), (nobody, fake), (_, again) = (accounts.scram(who) for who in ("ori", "bo", "BO"))
    assert (name, nobody) == ("ori", None)
    assert (len(real.salt), real.iterations) == (len(fake.salt), fake.iterations)
    assert fake.salt == again.salt


def test_scrypt_and_scram_secrets_come_back_from_text():
    assert is_password("sésame", hash_password("sésame", CHEAP))
    assert not is_password("sesame", hash_password("sésame", CHEAP))
    secret = scram_secret("pencil", b"salt", 4096)
    assert parse_scram(format_scram(secret)) == secret


def test_two_ways_of_typing_are_one_password():
    """RFC 4013 section 3, its examples 1, 4 and 5, and a space that is not ASCII."""
    assert prepared("I\u00adX") == b"IX"
    assert prepared("\u00aa") == b"a"
    assert prepared("\u2168") == b"IX"
    assert prepared("a\u00a0b") == b"a b"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_what_root_makes_belongs_to_the_user_of_the_server(tmp_path: Path):
    nobody = 65534
    os.chown(tmp_path, nobody, nobody)
    accounts = Accounts(tmp_path / "accounts.db", cost=CHEAP)
    with transaction(tmp_path / "accounts.db") as database:
        database.execute("INSERT INTO secrets VALUES ('x', x'00')")
        files = list(tmp_path.iterdir())
        assert len(files) == 2
        assert {(file.stat().st_uid, file.stat().st_gid) for file in files} == {(nobody, nobody)}
    assert accounts.list() == []
