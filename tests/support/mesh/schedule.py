"""A schedule: a mesh, and what happens to it, step by step. All of it follows from a seed."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from culture.names import Folded
from support.mesh.invariants import violations
from support.mesh.world import Machine, Process, Wire, World

HOSTS = ("spark", "thor", "orin", "juno", "mars", "vega")
SHARED = ("#a", "#b", "#c")
CHANNELS = (*SHARED, "#local-x")
LIMITS = (frozenset({Folded("#a")}), frozenset({Folded("#a"), Folded("#b")}))
HEALING_S = 7.0
HEALINGS = 12
# After so long everybody has noticed who was silent.
SILENCE_S = 16.0

Step = tuple[str, ...]


@dataclass(frozen=True)
class Schedule:
    # Of all that is left to chance while it is played.
    seed: int
    wires: tuple[tuple[str, str, frozenset[Folded] | None], ...]
    steps: tuple[Step, ...] = field(repr=False)

    def without(self, first: int, last: int) -> "Schedule":
        return replace(self, steps=self.steps[:first] + self.steps[last:])

    def __str__(self) -> str:
        wires = [("wire", a, b, "all" if c is None else ",".join(sorted(c))) for a, b, c in self.wires]
        return "\n".join([f"seed {self.seed}", *map(shlex.join, [*wires, *self.steps])])


def read_schedule(text: str) -> Schedule:
    """What a schedule looks like in a file, back."""
    words = [tuple(shlex.split(line, comments=True)) for line in text.splitlines()]
    seeds = [int(each[1]) for each in words if each[:1] == ("seed",)]
    wires = [
        (each[1], each[2], None if each[3] == "all" else frozenset(map(Folded, each[3].split(","))))
        for each in words
        if each[:1] == ("wire",)
    ]
    steps = [each for each in words if each and each[0] not in ("seed", "wire")]
    return Schedule(seeds[0], tuple(wires), tuple(steps))


def make_schedule(seed: int, length: int = 50, most: int = len(HOSTS)) -> Schedule:
    """`most`: how many hosts."""
    random = Random(seed)
    hosts = HOSTS[: min(most, random.choice((2, 3, 3, 4, 4, 5, 6)))]
    wires = _make_wires(random, hosts)
    limited = random.random() < 0.3
    limits = [(a, b, random.choice(LIMITS) if limited and random.random() < 0.4 else None) for a, b in wires]
    steps = [step for name in hosts for step in _arrivals(random, name)]
    faults = random.choice((FEW, MANY, MANY))
    for _ in range(length):
        kind = random.choices(list(faults), weights=list(faults.values()))[0]
        steps += _make_step(random, kind, hosts, wires)
    return Schedule(seed, tuple(limits), tuple(steps))


FEW = {"run": 20, "say": 24, "come": 6, "go": 4, "rule": 20, "direct": 8, "cut": 2, "mend": 3}
MANY = {
    "run": 24,
    "say": 16,
    "come": 6,
    "go": 5,
    "rule": 16,
    "direct": 8,
    "cut": 6,
    "silence": 3,
    "mend": 8,
    "slow": 2,
    "crash": 4,
    "boot": 8,
    "back_up": 3,
    "restore": 3,
    "flap": 2,
    "fill": 2,
    "clear": 4,
}


def _make_wires(random: Random, hosts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Any graph that is in one piece."""
    pairs = [(random.choice(hosts[:index]), hosts[index]) for index in range(1, len(hosts))]
    others = [(a, b) for i, a in enumerate(hosts) for b in hosts[i + 1 :] if (a, b) not in pairs]
    share = random.choice((0.0, 0.3, 1.0))
    return pairs + [pair for pair in others if random.random() < share]


def _arrivals(random: Random, name: str) -> list[Step]:
    steps: list[Step] = [("boot", name)]
    for user in ("ann", "bo"):
        nick = f"{name}-{user}"
        steps.append(("act", name, "USER", nick))
        steps += [("act", name, "JOIN", nick, each) for each in CHANNELS if random.random() < 0.7]
    return steps


def _make_step(random: Random, kind: str, hosts: tuple[str, ...], wires: list[tuple[str, str]]) -> list[Step]:
    name, (one, other) = random.choice(hosts), random.choice(wires)
    nick, channel = f"{name}-{random.choice(('ann', 'bo', 'cy'))}", random.choice(CHANNELS)
    match kind:
        case "run":
            return [("run", random.choice(("0.005", "0.05", "0.5", "3", "8", "20")))]
        case "say":
            said = random.choice((1, 1, 2, 6))
            return [("act", name, "PRIVMSG", nick, channel, f"{random.random():.6f}") for _ in range(said)]
        case "come":
            return [("act", name, "USER", nick), ("act", name, "JOIN", nick, channel)]
        case "go":
            new = f"{name}-{random.choice(('ann', 'bo', 'cy'))}"
            leaving: list[Step] = [
                ("act", name, "PART", nick, channel),
                ("act", name, "QUIT", nick),
                ("act", name, "NICK", nick, new),
            ]
            return [random.choice(leaving)]
        case "rule":
            return [("act", name, *_rule(random, nick, channel, random.choice(hosts)))]
        case "direct":
            to = random.choice(hosts)
            return [("act", name, "PRIVMSG", nick, f"{to}-ann", f"{random.random():.6f}") for _ in range(3)]
        case "slow":
            return [("slow", one, other, random.choice(("5", "50")))]
        case "flap":
            return [("cut", one, other), ("run", "0.2"), ("mend", one, other)]
        case "crash":
            return [("crash", name, random.choice(("before", "after")))]
        case "boot" | "back_up" | "restore" | "fill" | "clear":
            return [(kind, name)]
        case _:
            return [(kind, one, other)]


def _rule(random: Random, nick: str, channel: str, other: str) -> Step:
    """What operators do, and what people say of themselves."""
    whom, number = f"{other}-{random.choice(('ann', 'bo', 'cy'))}", str(random.randrange(1000))
    ruling: list[Step] = [
        ("TOPIC", nick, channel, f"topic {number}"),
        ("TOPIC", nick, channel, ""),
        ("MODE", nick, channel, random.choice(("+m", "-m", "+i", "-i", "-n", "+n", "+s-t", "-s+t"))),
        ("MODE", nick, channel, random.choice(("+k", "-k")), f"key{number}"),
        ("MODE", nick, channel, "+l", number),
        ("MODE", nick, channel, "-l"),
        ("MODE", nick, channel, random.choice(("+b", "-b", "+e", "-I")), f"{random.choice('xyz')}!*@*"),
        ("MODE", nick, channel, random.choice(("+o", "-o", "+v", "-v", "+h")), whom),
        ("MODE", nick, channel, random.choice(("+o", "+o", "+v")), whom),
        ("KICK", nick, channel, whom, f"reason {number}"),
        ("MODE", nick, "#local-x", "+L"),
        ("INVITE", nick, whom, channel),
        ("RENAME", nick, random.choice(SHARED), random.choice((*SHARED, "#d")), f"reason {number}"),
        ("AWAY", nick, random.choice((f"away {number}", ""))),
        ("SETNAME", nick, f"name {number}"),
        ("MODE", nick, nick, random.choice(("+i", "-i", "+B"))),
    ]
    return random.choice(ruling)


def play(schedule: Schedule, start: Callable[[World, Machine], Process]) -> World:
    """The world as it is after all steps, healed."""
    random = Random(schedule.seed)
    wires = {
        frozenset({a, b}): Wire(channels, delay_s=random.choice((0.001, 0.01, 0.1)))
        for a, b, channels in schedule.wires
    }
    world = World(random, wires, start)
    for machine in world.machines.values():
        machine.skew_s = random.choice((0.0, 0.0, -90.0, 90.0))
    for step in schedule.steps:
        take_step(world, step)
    heal(world)
    return world


def take_step(world: World, step: Step) -> None:
    kind, *rest = step
    match kind:
        case "run":
            world.run(float(rest[0]))
        case "act":
            _act(world.machines[rest[0]], tuple(rest[1:]), world)
        case "boot":
            world.boot(rest[0])
        case "crash":
            _crash(world, rest[0], rest[1])
        case "back_up":
            world.back_up(rest[0])
        case "restore":
            world.crash(rest[0])
            # Not within the second in which the server was started.
            world.run(1.0)
            world.restore(rest[0])
        case "fill" | "clear":
            world.machines[rest[0]].disk.is_full = kind == "fill"
        case "cut":
            world.cut(frozenset(rest))
        case "silence":
            world.silence(frozenset(rest))
        case "mend":
            world.mend(frozenset(rest))
        case "slow":
            world.wires[frozenset(rest[:2])].lines_per_s = float(rest[2])
        case _:
            raise ValueError(f"no such step: {kind}")


def _act(machine: Machine, action: tuple[str, ...], world: World) -> None:
    if machine.process is not None:
        machine.process.act(action)
        world.turn(machine.name)


def _crash(world: World, name: str, when: str) -> None:
    """In the middle of a turn: somebody said what is not written down, and nobody may know of it."""

    def speak(process: Process) -> None:
        process.act(("PRIVMSG", f"{name}-ann", "#a", "never heard of"))

    world.crash(name, before_commit=speak if when == "before" else None)


def heal(world: World) -> None:
    for pair in world.wires:
        world.mend(pair)
    for name, machine in world.machines.items():
        machine.disk.is_full = False
        world.boot(name)
    # A wire that was slow has a lot to make up for; who was refused waits a while.
    world.run(SILENCE_S)
    for _ in range(HEALINGS):
        world.run(HEALING_S)
        if not violations(world):
            break
    # It was not by chance.
    world.run(HEALING_S)
