"""Peers that garble what they carry, or lie: nothing that they say harms an honest host."""

import contextlib
from collections.abc import Iterator
from random import Random

import pytest
from support.mesh.disk import DuplicateError
from support.mesh.hostile import hostile_failure
from support.mesh.mangled import MangledHost
from support.mesh.schedule import make_schedule, take_step
from support.mesh.world import Wire, World

from culture.ircd.server import Ircd
from culture.names import fold

STEPS = 25
LONG_S = 8.0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, 400, 20))
def test_no_line_of_a_peer_breaks_a_server(first: int) -> None:
    for seed in range(first, first + 20):
        for ircd in servers_after(seed):
            check_members(ircd)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, 500, 20))
def test_a_liar_costs_honest_hosts_nothing(first: int) -> None:
    """They keep their links to each other, their users, their history and their processes."""
    for seed in range(first, first + 20):
        assert not (wrong := hostile_failure(seed)), f"seed {seed}: {wrong}"


@pytest.mark.timeout(120)
def test_a_liar_costs_a_few_honest_hosts_nothing() -> None:
    """The first of the above, for those who run the fast tests only."""
    for seed in range(10):
        assert not (wrong := hostile_failure(seed)), f"seed {seed}: {wrong}"


def servers_after(seed: int) -> Iterator[Ircd]:
    schedule = make_schedule(seed, STEPS)
    wires = {frozenset({a, b}): Wire(channels) for a, b, channels in schedule.wires}
    world = World(Random(seed), wires, MangledHost)
    # An event may be told again under another number.
    with contextlib.suppress(DuplicateError):
        for step in schedule.steps:
            take_step(world, step)
        world.run(LONG_S)
    for machine in world.machines.values():
        if isinstance(machine.process, MangledHost):
            yield machine.process.ircd


def check_members(ircd: Ircd) -> None:
    for key, channel in ircd.state.channels.items():
        assert fold(channel.name) == key
        assert all(user.channels[key] is channel for user in channel.members)
    for user in ircd.state.users.values():
        assert ircd.state.users[user.key] is user
        assert all(user in channel.members for channel in user.channels.values())
