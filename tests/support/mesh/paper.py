"""A host on paper: users and the channels they are in, and nothing else of an IRC server."""

import itertools
from collections.abc import Sequence

from culture.federation.links.link import Outbox, PendingRead
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller
from culture.names import Folded, fold
from culture.protocol.event_record import GENERATION_SHIFT, EventRecord
from culture.protocol.line import parse_line
from culture.protocol.parties import party_of
from support.mesh.reader import Reader
from support.mesh.world import SETTINGS, End, Machine, Users, World


class PaperHost:
    """What it shows of each host: its users, each with channels."""

    def __init__(self, world: World, machine: Machine) -> None:
        self.name = machine.name
        self._world = world
        self._disk = machine.disk
        self._machine = machine
        self._generation = machine.disk.begin_generation(int(self._clock()))
        self._counter = itertools.count(1)
        self.users: dict[str, dict[str, set[str]]] = {self.name: {}}
        self._happened: list[EventRecord] = []
        self._waiting: dict[End, list[str]] = {}
        self.mesh = Mesh(
            self.name,
            self,
            world.peers_of(self.name),
            machine.disk.holdings(),
            generation=self._generation,
            proof_key=machine.proof_key,
            clock=self._clock,
            timer=lambda: world.now,
            random=world.random.random,
            settings=SETTINGS,
        )

    def _clock(self) -> float:
        return self._world.now + self._machine.skew_s

    # As the mesh sees it.

    def snapshot(self, origin: str, channels: frozenset[Folded] | None) -> list[str]:
        lines = []
        for nick, joined in self.users.get(origin, {}).items():
            shown = {each for each in joined if not each.startswith("#local")}
            if channels is not None:
                shown &= channels
            if shown or channels is None:
                lines.append(" ".join([nick, *sorted(shown)]))
        return lines

    def apply_snapshot(self, origin: str, lines: Sequence[str], channels: frozenset[Folded] | None) -> None:
        self.users[origin] = {nick: set(joined) for nick, *joined in (line.split(" ") for line in lines)}

    def record_event(self, happening: EventRecord) -> None:
        self._happened.append(happening)

    def apply_event(self, happening: EventRecord, *, is_replayed: bool) -> None:
        self._happened.append(happening)
        if not is_replayed and not happening.to:
            self._apply(self.users.setdefault(happening.origin, {}), happening)

    def remove_users_of(self, origins: Sequence[str], between: tuple[str, str]) -> None:
        for origin in origins:
            self.users.pop(origin, None)

    def known_hosts(self) -> list[str]:
        return [name for name in self.users if name != self.name]

    def begin_generation(self, generation: int) -> None:
        self._generation, self._counter = generation, itertools.count(1)

    # As the world sees it.

    def dialed(self, end: End, name: str) -> None:
        self.mesh.dialed(end, name)

    def dial_failed(self, name: str) -> None:
        self.mesh.dial_failed(name)

    def accepted(self, end: End) -> None:
        self._waiting[end] = []

    def received(self, end: End, line: str) -> None:
        said = self._waiting.get(end)
        if said is None:
            self.mesh.received(end, line.encode())
            return
        said.append(line)
        if line.startswith("SERVER "):
            del self._waiting[end]
            self.mesh.offered(end, "", parse_line(line), Caller("127.0.0.1"))

    def closed(self, end: End) -> None:
        self._waiting.pop(end, None)
        self.mesh.closed(end, "Connection closed")

    def found(self, read: PendingRead) -> None:
        self.mesh.found(read, self._disk.read(read.request))

    def tick(self) -> None:
        self.mesh.tick()

    def flush(self) -> Outbox:
        happened, self._happened = self._happened, []
        if self._disk.is_full and happened:
            self.mesh.commit_failed()
        else:
            self._disk.append(happened)
            self.mesh.committed(happened)
        for link in self.mesh.links.up.values():
            assert isinstance(link.key, End)
            self.mesh.unsent(link.key, link.key.unsent_bytes)
        return self.mesh.flush()

    def users_of(self, origin: str) -> Users:
        return {
            nick: ({each: "" for each in joined if not each.startswith("#local")}, None)
            for nick, joined in self.users.get(origin, {}).items()
        }

    def channels(self) -> dict[str, object]:
        return {}

    def readers(self) -> list[tuple[Reader, dict[str, set[str]]]]:
        return []

    # What its users do.

    def act(self, action: tuple[str, ...]) -> None:
        command, nick, *params = action
        users = self.users[self.name]
        if (nick in users) == (command == "USER") or (command == "NICK" and params[0] in users):
            return
        if command == "USER":
            self._happen("USER", nick)
        elif command in ("JOIN", "PART"):
            if (params[0] in self.users[self.name][nick]) == (command == "PART"):
                self._happen(command, nick, params[0])
        elif command == "PRIVMSG":
            self._happen(command, nick, *params)
        elif command in ("QUIT", "NICK"):
            self._happen_everywhere(command, nick, *params)

    def _happen(self, command: str, nick: str, target: str = "", text: str = "") -> None:
        to = "" if target.startswith("#") or not target else target.partition("-")[0]
        self._add(
            EventRecord(
                *("", 0.0, command, target, f"{nick}!{nick}@{self.name}", None, text),
                params=(str(int(self._clock() * 1000)), "+") if command == "USER" else (),
                ends=(party_of(None, "", nick), party_of(None, "", target)) if to else None,
                to=to if to != self.name else "",
                is_local=target.startswith("#local"),
            )
        )

    def _happen_everywhere(self, command: str, nick: str, text: str = "") -> None:
        """What was seen in local channels and in others happened twice."""
        joined = sorted(self.users[self.name][nick])
        local = [each for each in joined if each.startswith("#local")]
        shared = [each for each in joined if each not in local]
        source = f"{nick}!{nick}@{self.name}"
        for is_local, channels in ((True, local), (False, shared)):
            if channels or not is_local:
                told = command if channels else {"QUIT": "GONE", "NICK": "NAMED"}[command]
                self._add(
                    EventRecord(
                        *("", 0.0, told, "", source, None, text),
                        channels=tuple((each, True) for each in channels),
                        is_local=is_local,
                    )
                )

    def _add(self, happening: EventRecord) -> None:
        seq = self._generation << GENERATION_SHIFT | next(self._counter)
        done = happening._replace(id=f"{self.name}-{seq}", at=self._clock(), seq=seq)
        self._happened.append(done)
        if not done.is_local or done.target:
            self._apply(self.users[self.name], done)

    def _apply(self, users: dict[str, set[str]], happening: EventRecord) -> None:
        nick = happening.source.partition("!")[0]
        match happening.command:
            case "USER":
                users[nick] = set()
            case "JOIN":
                users.setdefault(nick, set()).add(fold(happening.target))
            case "PART":
                users.get(nick, set()).discard(fold(happening.target))
            case "QUIT" | "GONE":
                users.pop(nick, None)
            case "NICK" | "NAMED":
                if nick in users:
                    users[happening.text] = users.pop(nick)
