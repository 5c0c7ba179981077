"""A halt survives a restart of the server, and a file that cannot be read halts."""

from pathlib import Path

import pytest

from culture.ircd.authority.halts import Halt, Halts, HaltScope
from culture.ircd.replication.stamps import Stamp
from culture.net.halt_file import FILE, HaltFile

HALT = Halt(True, Stamp(7, "spark"), "root", "the disk is full")


def test_a_halt_is_there_after_a_restart(tmp_path: Path):
    Halts(HaltFile(tmp_path)).set(HaltScope.MESH, HALT)
    assert Halts(HaltFile(tmp_path)).current == (HaltScope.MESH, HALT)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_its_end_is_there_too(tmp_path: Path):
    halts = Halts(HaltFile(tmp_path))
    halts.set(HaltScope.HOST, HALT)
    halts.set(HaltScope.HOST, Halt(False, Stamp(8, "spark"), "root"))
    assert Halts(HaltFile(tmp_path)).current is None
    assert not Halts(HaltFile(tmp_path)).set(HaltScope.HOST, HALT)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": [1]}', '{"planet": [true, 1, "", "", ""]}'])
def test_a_damaged_file_halts_until_somebody_ends_it(tmp_path: Path, text: str):
    (tmp_path / FILE).write_text(text)
    halts = Halts(HaltFile(tmp_path))
    current = halts.current
    assert current is not None
    assert current[0] is HaltScope.HOST
    halts.set(HaltScope.HOST, Halt(False, Stamp(8, "spark"), "root"))
    assert Halts(HaltFile(tmp_path)).current is None


def test_agents_are_halted_even_if_it_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    halts = Halts(HaltFile(tmp_path / "missing"))
    halts.set(HaltScope.HOST, HALT)
    assert halts.current is not None
    assert "will not survive a restart" in caplog.text
