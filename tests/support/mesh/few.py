"""A few hosts on paper, for tests that look at single lines."""

import itertools
from random import Random

from culture.federation.mesh import Mesh
from culture.federation.ports import Peer
from culture.names import Folded
from support.mesh.paper import PaperHost
from support.mesh.world import START, Machine, Wire, World


def nonce(number: int) -> str:
    """The nonces of a quiet mesh, in the order in which it needs them from 1 on."""
    return f"{number:032x}"


def quiet_mesh(name: str, *peers: Peer) -> Mesh:
    """A mesh with nobody around, which dials nobody."""
    world = World(Random(0), {frozenset({name, "nobody"}): Wire()}, PaperHost)
    host = PaperHost(world, Machine(name))
    numbers = itertools.count(1)
    return Mesh(
        name,
        host,
        {peer.name: peer for peer in peers},
        {},
        generation=int(START),
        proof_key=bytes(32),
        clock=lambda: world.now,
        timer=lambda: world.now,
        random=lambda: 0.0,
        new_nonce=lambda: nonce(next(numbers)),
    )


class Hosts:
    """Linked as it is said: `Hosts("spark-thor", "thor-orin=#ops")`, and up."""

    def __init__(self, *wires: str, seed: int = 0) -> None:
        between = {}
        for wire in wires:
            pair, _, channels = wire.partition("=")
            limit = frozenset(map(Folded, channels.split(","))) if channels else None
            between[frozenset(pair.split("-"))] = Wire(limit)
        self.world = World(Random(seed), between, PaperHost)
        for name in self.world.machines:
            self.world.boot(name)
        self.world.run(3)

    def __getitem__(self, name: str) -> PaperHost:
        process = self.world.machines[name].process
        assert isinstance(process, PaperHost)
        return process

    def do(self, *action: str) -> None:
        """`PRIVMSG spark-ann #ops hi`, on the host of who does it, at once."""
        name = action[1].partition("-")[0]
        self[name].act(action)
        self.world.turn(name)

    def said(self, name: str, *places: str) -> list[str]:
        """What a host has in its history of what was said in these channels, or to these nicks."""
        rows = self.world.machines[name].disk.rows
        return [
            each.text for each in rows if each.command == "PRIVMSG" and (not places or each.target in places)
        ]
