"""Peers whose lines a test types by hand, linked to one simulated host that runs the real server."""

from random import Random

from culture.federation.event_lines import decode, encode
from culture.federation.event_proofs import EventProofs
from culture.federation.links.challenge import LinkChallenge, Role
from culture.federation.links.handshake import link_line, proof_line, server_line
from culture.names import Folded
from culture.protocol.event_record import EventRecord
from culture.protocol.line import parse_line
from support.mesh.server import ServerHost
from support.mesh.world import START, Connection, End, Machine, Wire, World

# Of every typed peer; the host begins its own generation in the same second.
GENERATION = int(START)


class Spark:
    """The host `spark`, which is configured for links to `thor` and `orin`."""

    def __init__(self, *channels: str) -> None:
        """`channels` limit the link to `thor`."""
        limit = frozenset(map(Folded, channels)) if channels else None
        wires = {frozenset({"spark", "thor"}): Wire(limit), frozenset({"spark", "orin"}): Wire()}
        self.world = World(Random(0), wires, ServerHost)
        self.machine: Machine = self.world.machines["spark"]
        self.host = ServerHost(self.world, self.machine)
        self.notes: list[str] = []
        self._peers: dict[End, TypedPeer] = {}

    def connect(self, peer: "TypedPeer") -> End:
        end = Connection.between(peer.name, "spark").ends[1]
        self._peers[end] = peer
        self.host.accepted(end)
        return end

    def do(self, *action: str) -> None:
        """`do("PRIVMSG", "spark-ori", "#ops", "hello")`."""
        self.host.act(action)
        self.turn()

    def turn(self) -> None:
        """Carry out what the host decided, until it is done."""
        while outbox := self.host.flush():
            for end, lines in outbox.lines.items():
                assert isinstance(end, End)
                self._peers[end].heard += lines
            for end, why in outbox.closings:
                assert isinstance(end, End)
                self._peers[end].closed = why
            self.notes += [note.text for note in outbox.notes]
            for read in outbox.reads:
                self.host.found(read)
            if not outbox.reads:
                return

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.world.now += 1
            self.host.tick()
            self.turn()

    @property
    def history(self) -> list[EventRecord]:
        return self.machine.disk.rows

    def proved(self, line: str) -> str:
        """An event of the host as it told it to its peers itself."""
        carried = decode(parse_line(line))
        proofs = EventProofs(self.machine.proof_key)
        return encode(carried._replace(event=proofs.prove(carried.event)))

    def said(self) -> list[str]:
        """The texts of all messages that are in the history of the host."""
        return [each.text for each in self.history if each.command == "PRIVMSG"]


class TypedPeer:
    """A peer that proved its secret to `spark` and may say anything from then on."""

    def __init__(self, spark: Spark, name: str = "thor") -> None:
        self.name = name
        self.spark = spark
        # What the host said on the connection that there is now.
        self.heard: list[str] = []
        # Why the host closed it; empty as long as it did not.
        self.closed = ""
        self._end = spark.connect(self)
        self._version = 1
        self._prove("a" * 32)
        self.say(link_line(GENERATION, int(START * 1000), None))
        self.say(f"HOST {name} {GENERATION} 1 spark :")

    def _prove(self, nonce: str) -> None:
        self.say(server_line(self.name, nonce))
        challenge = LinkChallenge(self.name, "spark", nonce, self.heard[-1].split(" ")[3])
        self.say(proof_line(challenge, "sesame", Role.CALLER))

    def lead_to(self, host: str) -> None:
        """Say that another host is linked to this peer."""
        self._version += 1
        self.say(
            f"HOST {host} {GENERATION} 1 {self.name} :",
            f"HOST {self.name} {GENERATION} {self._version} {host} spark :",
        )

    def say(self, *lines: str) -> None:
        for line in lines:
            self.spark.host.received(self._end, line)
        self.spark.turn()

    def answer(self, command: str, origin: str, scope: str = "*") -> None:
        """Begin to answer the last WANT or SEEK of an origin."""
        asked = [line.split(" ") for line in self.heard if line.startswith(f"{command} ")]
        token = [words[1] for words in asked if words[2] == origin][-1]
        self.say(f"FEED {token} {origin} {scope}")
