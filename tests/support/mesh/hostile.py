"""Honest hosts with a liar among their peers: whatever it says, they keep what is theirs.

They keep their links to each other, their users and channels, their history, and their processes.
"""

import traceback
from dataclasses import replace
from random import Random

from culture.federation.ports import MeshNoteKind, Peer
from culture.names import Folded
from support.mesh.disk import places
from support.mesh.invariants import (
    check_direct,
    check_history,
    check_limits,
    check_order,
    check_reach,
    check_readers,
    check_users,
    running,
)
from support.mesh.liar import MARK, NAME, LyingHost
from support.mesh.schedule import LIMITS, Schedule, Step, make_schedule, take_step
from support.mesh.server import ServerHost
from support.mesh.world import Machine, Process, Wire, World

STEPS = 8
# Lies are told from the moment on that the hosts know each other.
PEACE_S = 3.0
LONGEST_S = 3.0
HEALING_S = 4.0
HEALINGS = 25


class HostileWorld(World):
    """The hosts of a schedule, and one that lies to some of them."""

    def __init__(self, random: Random, wires: dict[frozenset[str], Wire]) -> None:
        super().__init__(random, wires, _start)
        self.liar = self.machines[NAME]
        self.distrusted = frozenset({NAME})
        # The honest hosts as if there were nobody else.
        self.honest = World(random, {pair: wire for pair, wire in wires.items() if NAME not in pair}, _start)
        self.honest.machines = {name: each for name, each in self.machines.items() if name != NAME}

    def peers_of(self, name: str) -> dict[str, Peer]:
        peers = super().peers_of(name)
        if NAME in peers and self.wires[frozenset({name, NAME})].is_leaf:
            peers[NAME] = replace(peers[NAME], leads_to=frozenset())
        return peers


def _start(world: World, machine: Machine) -> Process:
    return LyingHost(world, machine) if machine.name == NAME else ServerHost(world, machine)


def play_hostile(seed: int) -> HostileWorld:
    random = Random(seed)
    schedule = make_schedule(seed, STEPS, most=4)
    world = HostileWorld(random, _wires(random, schedule))
    for machine in world.honest.machines.values():
        machine.skew_s = random.choice((0.0, 0.0, -90.0, 90.0))
        machine.disk.honest = frozenset({"", *world.honest.machines})
    first = [step for step in schedule.steps if step[0] == "boot"]
    for step in first:
        take_step(world, step)
    world.run(PEACE_S)
    world.boot(NAME)
    take_step(world, ("act", NAME, "USER", f"{NAME}-eve"))
    take_step(world, ("act", NAME, "JOIN", f"{NAME}-eve", "#a"))
    for step in schedule.steps:
        if step[0] == "run":
            world.run(min(float(step[1]), LONGEST_S))
        elif _is_possible(step, world):
            take_step(world, step)
    heal(world)
    return world


def heal(world: HostileWorld) -> None:
    """The honest hosts run, and their wires are whole. The liar goes on."""
    for pair in world.wires:
        world.mend(pair)
    for name, machine in world.machines.items():
        machine.disk.is_full = False
        world.boot(name)
    for _ in range(HEALINGS):
        world.run(HEALING_S)
        if violations(world):
            continue
        # A link that went silent looks whole until its pings time out.
        world.run(HEALING_S)
        if not violations(world):
            break


def _wires(random: Random, schedule: Schedule) -> dict[frozenset[str], Wire]:
    wires = {
        frozenset({a, b}): Wire(channels, delay_s=random.choice((0.001, 0.01)))
        for a, b, channels in schedule.wires
    }
    hosts = sorted(frozenset().union(*wires))
    # One that may lead to others is linked to one host; else it would be on the way between honest ones.
    is_leaf = random.random() < 0.5
    victims = random.sample(hosts, random.randint(1, len(hosts))) if is_leaf else [random.choice(hosts)]
    limit: frozenset[Folded] | None = random.choice(LIMITS) if random.random() < 0.3 else None
    for victim in victims:
        wires[frozenset({victim, NAME})] = Wire(limit, is_leaf=is_leaf)
    return wires


def _is_possible(step: Step, world: HostileWorld) -> bool:
    """A host that starts anew knows only from its configuration who leads to whom."""
    if step[0] not in ("crash", "restore"):
        return True
    return all(wire.is_leaf for pair, wire in world.wires.items() if NAME in pair)


def check_honest(world: HostileWorld) -> None:
    honest = world.honest
    honest.now = world.now
    check_reach(honest)
    check_links(world)
    check_words(world)
    check_local_users(world)
    check_history(honest)
    check_order(honest)
    check_direct(honest)
    check_liar_limits(world)
    check_limits(honest)
    # Users of a linked host may give and take status in channels, and a liar tells hosts different things.
    check_users(honest, with_status=False)
    check_readers(honest)


def check_links(world: HostileWorld) -> None:
    for name, note in world.notes:
        if name != NAME and note.peer != NAME:
            assert note.kind is not MeshNoteKind.BROKEN, f"{name} broke with an honest host: {note}"
    for pair in world.honest.wires:
        one, other = sorted(pair)
        assert other in running(world, one).mesh.links.up, f"{one} is not linked to {other}"


def check_words(world: HostileWorld) -> None:
    """Nothing that the liar made up counts as somebody else's."""
    names = set(world.honest.machines)
    for name, machine in world.honest.machines.items():
        for row in machine.disk.rows:
            is_honest = not row.origin or row.origin in names
            assert not (is_honest and MARK in row.text), f"{name} believes that somebody honest said {row}"
        for reader, _ in running(world, name).readers():
            for nick, text in reader.heard:
                is_honest = nick.partition("-")[0].lower() in names and "-" in nick
                assert not (is_honest and MARK in text), f"{reader.nick} heard {nick} say {text}"
            assert not reader.people, f"{reader.nick} takes {reader.people} for people"


def check_liar_limits(world: HostileWorld) -> None:
    """What comes from the liar, under whatever name, is in the channels that its links are limited to."""
    limits = [wire.channels for pair, wire in world.wires.items() if NAME in pair]
    if None in limits:
        return
    allowed = frozenset().union(*(limit for limit in limits if limit is not None))
    for name, machine in world.honest.machines.items():
        for row in machine.disk.rows:
            if row.origin and row.origin not in world.honest.machines:
                assert set(places(row)) <= allowed, f"{name} may not have {row}"


def check_local_users(world: HostileWorld) -> None:
    """Nobody is logged in, or made an operator, from outside."""
    for name in world.honest.machines:
        process = running(world, name)
        assert isinstance(process, ServerHost)
        for user in process.ircd.state.users.values():
            if user.session is not None:
                assert user.account is None, f"{user.nick} is logged in to {user.account}"
                assert not user.is_operator, f"{user.nick} is an operator"
                assert MARK not in user.realname, f"{user.nick} is called {user.realname}"
        assert process.ircd.halts.current is None, f"{name} is halted by {process.ircd.halts.current}"
        assert process.mesh.hosts.own.generation < world.now + 4 * 86_400


def violations(world: HostileWorld) -> str:
    try:
        check_honest(world)
    except AssertionError as error:
        return str(error) or "?"
    return ""


def hostile_failure(seed: int) -> str:
    """What is wrong when a schedule was played, or nothing."""
    try:
        check_honest(play_hostile(seed))
    except Exception:
        return traceback.format_exc()
    return ""
