"""Schedules by the thousand: each is played, healed and looked at; one that fails is made short."""

import traceback
from collections.abc import Callable, Iterable
from typing import Final

from support.mesh.invariants import check
from support.mesh.paper import PaperHost
from support.mesh.schedule import Schedule, make_schedule, play
from support.mesh.server import ServerHost
from support.mesh.world import Machine, Process, World

Start = Callable[[World, Machine], Process]

# What the hosts are: hardly more than the mesh, or all of a server.
HOSTS: Final[dict[str, Start]] = {"paper": PaperHost, "server": ServerHost}


class SimulationError(AssertionError):
    """A mesh that does not heal."""


def failure(schedule: Schedule, kind: str) -> str:
    """What is wrong when a schedule was played, or nothing."""
    try:
        check(play(schedule, HOSTS[kind]))
    except Exception:
        return traceback.format_exc()
    return ""


def shrink(schedule: Schedule, kind: str) -> Schedule:
    """Without all steps that are not needed for it to fail."""
    size = len(schedule.steps) // 2
    while size:
        first = 0
        while first < len(schedule.steps):
            shorter = schedule.without(first, first + size)
            if failure(shorter, kind):
                schedule = shorter
            else:
                first += size
        size //= 2
    return schedule


def simulate(kind: str, seeds: Iterable[int]) -> None:
    """Raises SimulationError for the first that fails, with all that is needed to play it again."""
    for seed in seeds:
        schedule = make_schedule(seed)
        if failure(schedule, kind):
            short = shrink(schedule, kind)
            raise SimulationError(
                f"{kind}, seed {seed}, as short as it can be:\n{short}\n{failure(short, kind)}"
            )
