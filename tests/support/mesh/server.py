"""A simulated host with the real server: its core, the mesh, and clients that type lines."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from culture.config.ircd import AccountsConfig, IrcdConfig, Limits
from culture.config.links import LinkConfig
from culture.federation.links.link import Outbox, PendingRead
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller, MeshNote, Peer
from culture.ircd.commands.table import COMMANDS
from culture.ircd.delivery.fast_path import deliver_plain_messages
from culture.ircd.delivery.queue import join_output
from culture.ircd.model.ban_lists import MaskList
from culture.ircd.replication.host_adapter import MeshHost
from culture.ircd.server import Ircd
from culture.ircd.session import UNLIMITED, Phase, Session
from culture.ircd.skills import NotRecordedError, Skill, Skills
from culture.names import fold
from culture.net.links.mesh_adapter import MeshLinks
from culture.protocol.event_record import SEEN, SPOKEN, EventRecord
from culture.protocol.framing import CRLF
from support.mesh.disk import Disk
from support.mesh.reader import Reader
from support.mesh.world import SETTINGS, End, Machine, Users, World

CAPS = "message-tags server-time batch echo-message extended-join account-tag"


class Keeping(Skill):
    """History that is only what is written down."""

    name = "keeping"
    records = SPOKEN | SEEN

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def begin_generation(self, least: int) -> int:
        return self._disk.begin_generation(least)

    def commit(self, happened: Sequence[EventRecord]) -> None:
        if self._disk.is_full:
            raise NotRecordedError("the disk is full")
        self._disk.append(happened)


class ServerHost:
    def __init__(self, world: World, machine: Machine) -> None:
        self.name = machine.name
        self._disk = machine.disk
        clock = _clock(world, machine)
        ids = itertools.count(1)
        boot = int(world.now * 1000)
        self.ircd = Ircd(
            # Nobody answers questions about accounts here.
            IrcdConfig(
                name=self.name,
                limits=Limits(sendq_bytes=0),
                accounts=AccountsConfig(reserve_nicks=False),
                links=_links(world.peers_of(self.name), world.distrusted),
            ),
            COMMANDS,
            clock=clock,
            timer=lambda: world.now,
            new_id=lambda: f"{self.name}-{boot}-{next(ids)}",
            version="1",
            skills=Skills([Keeping(machine.disk)], report=_raise),
        )
        self.mesh = Mesh(
            self.name,
            MeshHost(self.ircd),
            world.peers_of(self.name),
            machine.disk.holdings(),
            generation=self.ircd.record.generation,
            proof_key=machine.proof_key,
            clock=clock,
            timer=lambda: world.now,
            random=world.random.random,
            settings=SETTINGS,
        )
        self._outbox = Outbox()
        self._links = MeshLinks(self.ircd, self.mesh, self)
        self.ircd.link(self._links)
        self._sessions: dict[End, Session] = {}
        self._ends: dict[Session, End] = {}
        self.clients: dict[Session, Reader] = {}

    # As the carrier of the mesh.

    def dial(self, name: str) -> None:
        self._outbox.dials.append(name)

    def read(self, read: PendingRead) -> None:
        self._outbox.reads.append(read)

    def caller(self, session: Session) -> Caller:
        return Caller("127.0.0.1")

    def unsent(self, session: Session) -> int:
        return self._ends[session].unsent_bytes

    def failed(self, error: Exception) -> None:
        raise error

    def note(self, note: MeshNote) -> None:
        self._outbox.notes.append(note)

    # As the world sees it.

    def dialed(self, end: End, name: str) -> None:
        session = self._open(end)
        self._links.dialed(session, name)

    def dial_failed(self, name: str) -> None:
        self._links.dial_failed(name)

    def accepted(self, end: End) -> None:
        self._open(end)

    def _open(self, end: End) -> Session:
        session = self.ircd.connect(end.other.host, repr(end))
        self._sessions[end], self._ends[session] = session, end
        return session

    def received(self, end: End, line: str) -> None:
        self.ircd.received(self._sessions[end], line.encode())

    def closed(self, end: End) -> None:
        if (session := self._sessions.get(end)) is not None:
            self.ircd.disconnected(session, "Connection closed")

    def found(self, read: PendingRead) -> None:
        self._links.found(read, self._disk.read(read.request))

    def tick(self) -> None:
        self._links.tick()

    def flush(self) -> Outbox:
        while pending := self.ircd.drain():
            for session, output in pending.items():
                lines = join_output(output).decode().split("\r\n")[:-1]
                if (end := self._ends.get(session)) is not None:
                    self._outbox.lines.setdefault(end, []).extend(lines)
                    if session.phase is Phase.CLOSED:
                        self._outbox.closings.append((end, session.close_reason))
                elif session in self.clients:
                    for line in lines:
                        self.clients[session].read(line)
        self.ircd.delivered()
        done, self._outbox = self._outbox, Outbox()
        return done

    def users_of(self, origin: str) -> Users:
        server = "" if origin == self.name else origin
        return {
            user.nick: (
                {
                    key: "".join(sorted(channel.members[user]))
                    for key, channel in user.channels.items()
                    if not channel.is_local
                },
                (user.mask, user.away, user.account, user.realname, sorted(user.modes)),
            )
            for user in self.ircd.state.users.values()
            if user.server == server
        }

    def channels(self) -> dict[str, object]:
        return {
            key: (
                channel.name,
                channel.topic and (channel.topic.text, channel.topic.set_by),
                "".join(sorted(channel.flags)),
                sorted(channel.settings.items()),
                sorted((kind, entry.mask) for kind in MaskList for entry in channel.masks.of(kind)),
            )
            for key, channel in self.ircd.state.channels.items()
            if not channel.is_local
        }

    def readers(self) -> list[tuple[Reader, dict[str, set[str]]]]:
        return [
            (
                reader,
                {
                    key: {user.nick for user in channel.members}
                    for key, channel in session.user.channels.items()
                },
            )
            for session, reader in self.clients.items()
            if session.phase is Phase.REGISTERED
        ]

    # What its users do.

    def act(self, action: tuple[str, ...]) -> None:
        command, nick, *params = action
        user = self.ircd.state.users.get(fold(nick))
        if command == "USER":
            if user is None:
                self._arrive(nick)
        elif user is not None and user.session is not None:
            self._send(self._able(user.session, command, params), command, params)

    def _able(self, session: Session, command: str, params: list[str]) -> Session:
        """Somebody here who may do what needs an operator of the channel, if there is one."""
        channel = self.ircd.state.find_channel(params[0]) if params else None
        if channel is not None and command in ("MODE", "TOPIC", "KICK", "RENAME"):
            here = [user for user in channel.members if user.session and channel.is_operator(user)]
            for user in sorted(here, key=lambda user: user.nick):
                assert user.session is not None
                return user.session
        return session

    def _arrive(self, nick: str) -> None:
        session = self.ircd.connect(self.name, "client")
        self.clients[session] = Reader()
        caps = f"{CAPS} draft/channel-rename" if nick.endswith("-bo") else CAPS
        for line in (
            f"CAP REQ :{caps}",
            f"NICK {nick}",
            f"USER {nick.partition('-')[2]} 0 * :{nick}",
            "CAP END",
        ):
            self.ircd.received(session, line.encode())
        assert session.phase is Phase.REGISTERED
        session.credit = UNLIMITED

    def _send(self, session: Session, command: str, params: list[str]) -> None:
        line = command
        if params:
            *middle, last = params
            line = " ".join([command, *middle, f":{last}"])
        if deliver_plain_messages(self.ircd, [(None, session, line.encode() + CRLF)]) is not None:
            self.ircd.received(session, line.encode())


def _links(peers: Mapping[str, Peer], distrusted: frozenset[str]) -> tuple[LinkConfig, ...]:
    return tuple(
        LinkConfig(name, name, channels=tuple(peer.channels or ()), trusted=name not in distrusted)
        for name, peer in peers.items()
    )


def _clock(world: World, machine: Machine) -> Callable[[], float]:
    return lambda: world.now + machine.skew_s


def _raise(name: str, error: Exception) -> None:
    raise error
