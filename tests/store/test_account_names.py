"""Which accounts there are, told at once."""

import os
import sqlite3
from pathlib import Path

import pytest
from support.accounts import accounts_in

from culture.errors import TemporaryError
from culture.store.account_names import AccountNameLookup


def test_what_others_change_counts_at_once(tmp_path: Path):
    accounts = accounts_in(tmp_path, "Ori[]")
    names = AccountNameLookup(tmp_path / "accounts.db")
    assert (names.find("ori{}"), names.find("bo")) == ("Ori[]", None)
    accounts.add("bo", "x")
    assert names.find("BO") == "bo"
    accounts.remove("bo")
    assert names.find("bo") is None


def test_a_backup_that_is_put_in_its_place_counts(tmp_path: Path):
    accounts_in(tmp_path, "ori")
    names = AccountNameLookup(tmp_path / "accounts.db")
    assert names.find("ori") == "ori"
    (tmp_path / "other").mkdir()
    accounts_in(tmp_path / "other", "bo")
    os.replace(tmp_path / "other/accounts.db", tmp_path / "accounts.db")
    assert (names.find("ori"), names.find("bo")) == (None, "bo")


def test_it_waits_for_nobody(tmp_path: Path):
    accounts_in(tmp_path, "ori")
    names = AccountNameLookup(tmp_path / "accounts.db")
    writer = sqlite3.connect(tmp_path / "accounts.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TemporaryError, match="locked"):
        names.find("ori")
    writer.execute("ROLLBACK")
    writer.close()
    assert names.find("ori") == "ori"
    names.close()


def test_a_file_that_is_not_there_cannot_be_asked(tmp_path: Path):
    with pytest.raises(TemporaryError):
        AccountNameLookup(tmp_path / "accounts.db").find("ori")
