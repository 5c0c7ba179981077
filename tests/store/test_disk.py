import contextlib
from pathlib import Path

from culture.store import disk


def fill(place: Path) -> None:
    with contextlib.suppress(OSError), (place / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))


def test_a_disk_with_room_is_told_with_what_is_free(small_disk: Path):
    assert not disk.is_full(small_disk / "not" / "made" / "yet")
    assert disk.describe(small_disk / "not" / "made" / "yet") == f"4.2 MB free in '{small_disk}'"


def test_a_full_disk_is_told_as_that(small_disk: Path):
    fill(small_disk)

    assert disk.is_full(small_disk)
    assert disk.describe(small_disk) == f"full: 0 bytes free in '{small_disk}'"
