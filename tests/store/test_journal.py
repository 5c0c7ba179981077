"""The journal of history: all of a turn or nothing, whatever happens."""

import os
from pathlib import Path

import pytest

from culture.errors import NotAllowedError, UnavailableError
from culture.protocol.parties import Party, parse_party
from culture.store.history import journal
from culture.store.history.journal import EventFields, Journal, Position, decode, encode

BEGINNING = Position(0, 0)


def said(
    text: str,
    number: int = 1,
    account: str | None = None,
    tags: dict[str, str] | None = None,
    public: bool = True,
    ends: tuple[Party, Party] | None = None,
    channels: tuple[tuple[str, bool], ...] = (),
    params: tuple[str, ...] = (),
    origin: str = "",
    seq: int = 3,
    session_id: str = "",
) -> EventFields:
    head = (f"m{number}", 1000.5, "PRIVMSG", "#ops", "ori!o@h", account, text, tags or {})
    return (*head, public, ends, channels, params, origin, seq, "", False, "*", session_id)


def texts(of: Journal) -> list[str]:
    return [decode(line).text for line, _ in of.read(BEGINNING, of.position)]


def test_what_is_written_is_read_as_it_was():
    everything = said(
        "one\ntwo\tthree ✓",
        account="ori",
        tags={"+x": "1"},
        public=False,
        ends=(parse_party("account:ori"), parse_party("session:5f0c@thor")),
        channels=(("#a", True),),
        params=("bo",),
    )
    data = encode([everything, said("x", origin="thor", seq=7, session_id="5f0c")])
    first, second = (decode(line) for line in data.splitlines())
    assert first.text == "one\ntwo\tthree ✓"
    assert (first.seq, first.at_ms, first.account, first.is_public) == (3, 1000500, "ori", False)
    assert [end.text for end in first.ends or ()] == ["account:ori", "session:5f0c@thor"]
    assert (first.tags, first.params) == ({"+x": "1"}, ["bo"])
    assert first.channels == [["#a", True]]
    assert (second.origin, second.seq) == ("thor", 7)
    assert (second.ends, second.author.text) == (None, "session:5f0c@thor")


def test_a_line_of_an_earlier_version_is_read_without_a_session():
    entry = decode(b"7 thor\tm7\t1000\tPRIVMSG\tbo\tori!o@h\t\t-\tnick:ori\taccount:bo\t\thello")
    assert (entry.seq, entry.origin, entry.session_id, entry.author.text) == (7, "thor", "", "nick:ori")
    assert [end.text for end in entry.ends or ()] == ["nick:ori", "account:bo"]


def test_a_line_that_was_begun_and_not_ended_is_taken_back(tmp_path: Path):
    first = Journal(tmp_path)
    first.append([said("one"), said("two")])
    os.write(first._file, b"3\tm3\t1000\tPRIV")
    first.close()
    again = Journal(tmp_path)
    again.append([said("three")])
    assert texts(again) == ["one", "two", "three"]
    again.close()


def test_a_file_that_is_long_enough_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 60)
    many = Journal(tmp_path)
    for number in range(6):
        many.append([said(f"text {number}", number)])
    assert len(many.segments()) == 3
    assert texts(many) == [f"text {number}" for number in range(6)]
    many.remove_before(3)
    assert texts(many) == ["text 4", "text 5"]
    many.close()


def test_where_nothing_can_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotAllowedError, match="cannot write to"):
        Journal(tmp_path / "file" / "history")


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    full = Journal(tmp_path)
    full.append([said("one")])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
    with pytest.raises(UnavailableError, match="No space left"):
        full.append([said("lost")])
    monkeypatch.undo()
    full.append([said("two")])
    assert texts(full) == ["one", "two"]
    full.close()
