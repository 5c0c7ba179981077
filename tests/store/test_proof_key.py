"""The key of a host: the same in every process of it, and nobody else's to read."""

import stat
from pathlib import Path

from culture.store.proof_key import read_or_make_key


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    path = tmp_path / "proof.key"

    key = read_or_make_key(path)

    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_or_make_key(path) == key
    assert read_or_make_key(tmp_path / "other.key") != key


def test_a_key_of_which_a_part_was_written_is_made_anew(tmp_path: Path):
    path = tmp_path / "proof.key"
    path.write_bytes(b"short")

    assert len(read_or_make_key(path)) == 32
    assert read_or_make_key(path) == read_or_make_key(path)
