"""The file of what is kept over a restart: the last record of each counts, whatever a crash leaves of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from culture.net.restart.session_file import ROOM_BYTES, SessionFile, read_kept


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SessionFile]:
    file = SessionFile(tmp_path / "sessions", "spark")
    file.replace()
    yield file
    file.remove()


def write(file: SessionFile, *records: tuple[str, str, object]) -> None:
    for record in records:
        file.put(*record)
    file.append()


def test_the_last_record_of_each_counts(file: SessionFile, tmp_path: Path):
    write(file, ("session", "1", {"nick": "ori"}), ("session", "2", {"nick": "bo"}))
    write(file, ("session", "1", {"nick": "örjan"}), ("session", "2", None), ("half", "1", "\xff\n\0"))
    kept = read_kept(tmp_path / "sessions")
    assert kept is not None
    assert kept.server == "spark"
    assert not kept.in_order
    assert kept.values == {"session": {"1": {"nick": "örjan"}}, "half": {"1": "\xff\n\0"}}


def test_of_a_line_that_was_cut_off_nothing_counts(file: SessionFile, tmp_path: Path):
    path = tmp_path / "sessions"
    write(file, ("session", "1", {"nick": "ori"}))
    whole = path.stat().st_size
    write(file, ("session", "1", {"nick": "bo"}), ("channel", "#a", {"name": "#a"}))
    data = path.read_bytes()
    for size in range(whole, len(data) - 1):
        path.write_bytes(data[:size])
        kept = read_kept(path)
        assert kept is not None
        assert kept.values == {"session": {"1": {"nick": "ori"}}}


def test_what_is_the_same_is_not_written_again(file: SessionFile, tmp_path: Path):
    write(file, ("session", "1", {"nick": "ori"}))
    before = (tmp_path / "sessions").stat().st_size
    write(file, ("session", "1", {"nick": "ori"}), ("session", "2", None))
    assert (tmp_path / "sessions").stat().st_size == before


def test_it_is_too_large_when_most_of_it_no_longer_counts(file: SessionFile):
    for number in range(100):
        write(file, ("session", str(number), "x" * 2000))
    assert not file.is_too_large, "it is large, and all of it counts"
    written = 0
    while not file.is_too_large:
        write(file, ("session", "1", f"{written}" + "x" * 2000))
        written += 2000
    assert written > 100 * 2000
    file.forget()
    file.put("session", "1", "x")
    file.replace()
    assert not file.is_too_large
    assert written > ROOM_BYTES


def test_an_orderly_end_is_told(file: SessionFile, tmp_path: Path):
    file.put("session", "1", {})
    file.replace(in_order=True)
    kept = read_kept(tmp_path / "sessions")
    assert kept is not None
    assert kept.in_order


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"culture-ircd": "spark"}\n'])
def test_what_is_not_understood_is_nothing(tmp_path: Path, text: str):
    (tmp_path / "sessions").write_text(text)
    assert read_kept(tmp_path / "sessions") is None


def test_a_file_that_is_not_there_is_nothing(tmp_path: Path):
    assert read_kept(tmp_path / "sessions") is None
