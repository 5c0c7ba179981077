"""Several servers in memory that tell each other everything, in an order that the test chooses."""

from collections import deque
from collections.abc import Mapping, Sequence

from culture.ircd.model.ban_lists import MaskList
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.replication.host_adapter import MeshHost
from culture.ircd.replication.links import ReachableHost
from culture.ircd.session import Session
from culture.names import Folded
from culture.protocol.event_record import EventRecord
from culture.protocol.line import Line
from support.network import Client, Network


class Host:
    """One server. What it tells the others waits in `unsent` until the test lets it arrive."""

    def __init__(self, name: str, **config: object) -> None:
        self.name = name
        self.network = Network(name=name, **config)
        self.ircd = self.network.ircd
        self.mesh = MeshHost(self.ircd)
        self.unsent: dict[str, deque[EventRecord]] = {}
        self.introductions: list[tuple[Session, str]] = []
        self.asked: list[tuple[str, ...]] = []
        self.refusal = ""
        self.direct = True
        self.ircd.link(self)

    # As the server's links.

    def introduced(self, session: Session, line: Line) -> None:
        self.introductions.append((session, session.password))

    def received(self, session: Session, raw: bytes) -> None:
        self.asked.append(("received", raw.decode()))

    def ended(self, session: Session, reason: str) -> None:
        self.asked.append(("ended", reason))

    def proved(self, happened: Sequence[EventRecord]) -> Sequence[EventRecord]:
        return happened

    def committed(self, happened: Sequence[EventRecord]) -> None:
        own = [each._replace(origin=self.name) for each in happened if not each.origin]
        for to, waiting in self.unsent.items():
            waiting += [each for each in own if each.to in ("", to)]

    def failed(self) -> None:
        self.asked.append(("failed",))

    def hosts(self) -> list[ReachableHost]:
        return [ReachableHost(name, self.name, 1, f"{name} of the lab") for name in sorted(self.unsent)]

    def takes_direct(self, name: str) -> bool:
        return self.direct

    def connect(self, name: str) -> str:
        self.asked.append(("connect", name))
        return self.refusal

    def disconnect(self, name: str, reason: str) -> str:
        self.asked.append(("disconnect", name, reason))
        return self.refusal

    # As a test has it.

    def client(self, name: str, *channels: str, caps: str = "") -> Client:
        return self.network.client(f"{self.name}-{name}", *channels, caps=caps)

    def picture(self) -> dict[str, object]:
        """All that has to be the same everywhere."""
        state = self.ircd.state
        return {
            **{user.nick: _user(user, state.metadata.of(user)) for user in state.users.values()},
            **{channel.name: _channel(channel) for channel in state.channels.values()},
        }


def _user(user: User, metadata: Mapping[str, str]) -> tuple[object, ...]:
    who = (user.mask, user.account, user.realname, user.away, "".join(sorted(user.modes)))
    return (*who, dict(metadata), sorted(channel.name for channel in user.channels.values()))


def _channel(channel: Channel) -> tuple[object, ...]:
    masks = {kind: sorted(entry.mask for entry in channel.masks.of(kind)) for kind in MaskList}
    return (
        {user.nick: "".join(sorted(held)) for user, held in channel.members.items()},
        "".join(sorted(channel.flags)),
        dict(channel.settings),
        channel.topic.text if channel.topic else "",
        masks,
        dict(channel.metadata),
        int(channel.created_at * 1000),
    )


class Mesh:
    """`Mesh("spark", "thor")` are linked to each other, each to all others."""

    def __init__(self, *names: str, **config: object) -> None:
        self.hosts = {name: Host(name, **config) for name in names}
        for one in names:
            for other in names:
                if one != other:
                    self.connect(one, other)
        self.settle()

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def connect(self, one: str, other: str, channels: frozenset[Folded] | None = None) -> None:
        """From now on the second hears of the first."""
        host = self.hosts[one]
        host.network.flush()
        host.unsent[other] = deque()
        self.hosts[other].mesh.apply_snapshot(one, host.mesh.snapshot(one, channels))

    def cut(self, one: str, other: str) -> None:
        """Neither hears of the other any more, nor what was on its way, and both know."""
        for here, there in ((one, other), (other, one)):
            del self.hosts[here].unsent[there]
            self.hosts[here].mesh.remove_users_of([there], (here, there))

    def heal(self, one: str, other: str) -> None:
        self.connect(one, other)
        self.connect(other, one)

    def heal_all(self) -> None:
        """All are linked again, and everything arrives."""
        for one, host in self.hosts.items():
            for other in self.hosts.keys() - {one} - host.unsent.keys():
                self.heal(one, other)
        self.settle()

    def arrive(self, one: str, other: str, most: int | None = None) -> None:
        """The first of what one host told another."""
        self.hosts[one].network.flush()
        waiting = self.hosts[one].unsent.get(other, deque())
        for _ in range(len(waiting) if most is None else min(most, len(waiting))):
            self.hosts[other].mesh.apply_event(waiting.popleft(), is_replayed=False)

    def settle(self) -> None:
        """Everything arrives."""
        while self._is_waiting():
            for one, host in self.hosts.items():
                for other in host.unsent:
                    self.arrive(one, other)

    def _is_waiting(self) -> bool:
        for host in self.hosts.values():
            host.network.flush()
        return any(waiting for host in self.hosts.values() for waiting in host.unsent.values())


def two_in_ops(*lines: str) -> tuple[Mesh, Client, Client]:
    """spark-ori, who made #ops and typed this there, and thor-bo, who came then."""
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    ori.send(*lines)
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    mesh.settle()
    return mesh, ori, bo
