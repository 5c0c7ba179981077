"""Entries of programs that are no services."""

from pathlib import Path
from typing import Any

import pytest

from culture.systemd import journal
from culture.systemd.journal import MESSAGE_IDS, tell_journal

sent_by = pytest.importorskip("systemd.journal", reason="python3-systemd is not installed")


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would go to the journal, which only a booted host has."""
    entries: list[dict[str, Any]] = []
    monkeypatch.setattr(sent_by, "send", lambda text, **named: entries.append({"MESSAGE": text, **named}))
    return entries


def test_an_entry_has_its_program_kind_and_fields(
    entries: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal, "JOURNAL", str(tmp_path))
    tell_journal("culturectl", "account-removed", "removed the account 'ori'", account="ori")
    assert entries == [
        {
            "MESSAGE": "removed the account 'ori'",
            "MESSAGE_ID": MESSAGE_IDS["account-removed"],
            "SYSLOG_IDENTIFIER": "culturectl",
            "PRIORITY": 6,
            "CULTURE_ACCOUNT": "ori",
        }
    ]


def test_without_a_journal_there_is_none(
    entries: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal, "JOURNAL", str(tmp_path / "none"))
    tell_journal("culturectl", "account-removed", "removed the account 'ori'", account="ori")
    assert entries == []
