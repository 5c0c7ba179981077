"""Random meshes that break in random ways: once healed, every host has the same, and nothing twice.

Two thousand schedules. `scripts/simulate --minutes N` goes on from there.
"""

from pathlib import Path

import pytest
from support.mesh.schedule import make_schedule, read_schedule
from support.mesh.simulation import failure, simulate

KEPT = sorted((Path(__file__).parent / "schedules").glob("*.txt"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, 800, 20))
def test_a_mesh_of_servers_heals(first: int) -> None:
    simulate("server", range(first, first + 20))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(1000, 2200, 50))
def test_a_mesh_of_hosts_that_have_only_users_and_channels_heals(first: int) -> None:
    simulate("paper", range(first, first + 50))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_did_not_heal_once_heals_now(path: Path) -> None:
    assert not failure(read_schedule(path.read_text()), path.stem.partition("-")[0])


def test_a_schedule_can_be_written_down_and_read_again() -> None:
    for seed in range(20):
        assert read_schedule(str(make_schedule(seed))) == make_schedule(seed)
