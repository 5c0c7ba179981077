"""The server as the mesh sees it: snapshots and events of other hosts come in here."""

from collections.abc import Sequence
from typing import Final

from culture.ircd.authority.halting import mesh_halt_lines, receive_halt
from culture.ircd.delivery.queue import DeliveryQueue
from culture.ircd.replication.apply_event import EventApplier
from culture.ircd.replication.apply_snapshot import SnapshotApplier, send_queued
from culture.ircd.replication.remote_users import host_lost, remove_remote_user
from culture.ircd.replication.snapshot_lines import HostSnapshot, snapshot_lines
from culture.ircd.replication.snapshot_reader import check_modes, read_snapshot
from culture.ircd.server import Ircd
from culture.names import SIGNS, Folded, fold
from culture.protocol.accounts import account_at
from culture.protocol.event_record import SEEN, SPOKEN, EventRecord
from culture.protocol.line import MalformedLine
from culture.protocol.peers.scopes import is_all_within

ADDRESSED: Final = SPOKEN | {"REDACT"}
# The replayed events that clients get after a host was out of reach for a moment. The snapshot that follows
# covers everything else.
REPLAYED_TO_CLIENTS: Final = SPOKEN | SEEN


class MeshHost:
    """Implements `federation.ports.LocalServer` for this server."""

    def __init__(self, ircd: Ircd) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._events = EventApplier(ircd)
        self._shown: set[str] = set()

    def known_hosts(self) -> Sequence[str]:
        """Return the hosts whose users are known, including those restored from before a restart."""
        return sorted(
            self._shown.union(origin for origin, guests in self._state.remote_users.items() if guests)
        )

    def begin_generation(self, generation: int) -> None:
        """Number the next event as the first of this generation."""
        self._ircd.record.begin(generation)

    def snapshot(self, origin: str, channels: frozenset[Folded] | None) -> Sequence[str]:
        """Return the state of a host as snapshot lines, limited to some channels or complete."""
        own = self._ircd.name
        is_own = origin == own
        lines = snapshot_lines(self._state, own, "" if is_own else origin, channels)
        return [*lines, *mesh_halt_lines(self._ircd)] if is_own and channels is None else lines

    def apply_snapshot(
        self, origin: str, lines: Sequence[str], channels: frozenset[Folded] | None = None
    ) -> None:
        """Make a snapshot the known state of a host, and tell clients the changes. Raises MalformedLine."""
        known = read_snapshot(lines, self._ircd.name, self._ircd.clock())
        if channels is not None:
            _check_scope(known, channels)
        was_shown = self._is_shown(origin)
        queue = DeliveryQueue(is_recorded=False)
        SnapshotApplier(self._ircd, origin, known, queue).run()
        send_queued(self._ircd, queue, "" if was_shown else f"netjoin {self._ircd.name} {origin}")
        self._shown.add(origin)
        if known.halt is not None:
            receive_halt(self._ircd, origin, known.halt)

    def apply_event(self, record: EventRecord, *, is_replayed: bool) -> None:
        """Record an event of another host, apply it and deliver it. Raises MalformedLine."""
        self._check(record)
        taken = self._localized(record)
        self._ircd.record.add_remote(taken)
        if is_replayed and taken.command not in REPLAYED_TO_CLIENTS:
            return
        if self._is_shown(taken.origin) or (taken.to and not is_replayed) or taken.command == "RENAME":
            self._events.apply(taken, is_replayed=is_replayed)

    def record_event(self, record: EventRecord) -> None:
        """Record an event without delivering it. Raises MalformedLine."""
        self._check(record)
        self._ircd.record.add_remote(self._localized(record))
        if record.command == "RENAME" and record.origin:
            # Local members of the channel at that time have not moved to the new name yet.
            self._events.apply(record, is_replayed=True)

    def _check(self, record: EventRecord) -> None:
        """Refuse an event before it is recorded. Raises MalformedLine."""
        _check_place(record)
        if record.command == "MODE":
            check_modes(record, self._ircd.name)

    def remove_users_of(self, origins: Sequence[str], between: tuple[str, str]) -> None:
        """Remove the users of hosts that are out of reach, as a netsplit between two hosts."""
        queue = DeliveryQueue(is_recorded=False)
        for origin in origins:
            host_lost(self._state, origin)
            for user in [*self._state.remote_users.get(origin, ())]:
                remove_remote_user(self._ircd, user, " ".join(between), queue)
            self._shown.discard(origin)
        send_queued(self._ircd, queue, f"netsplit {' '.join(between)}")

    def _is_shown(self, origin: str) -> bool:
        return origin in self._shown or bool(self._state.remote_users.get(origin))

    def _localized(self, record: EventRecord) -> EventRecord:
        """Qualify the account and the parties of an event with their hosts, as this host stores them."""
        record = record._replace(account=account_at(record.account, record.origin))
        if record.ends is None:
            return record
        own = self._ircd.name
        origin = record.origin or own
        author, addressed = (party.told_by(origin) for party in record.ends)
        is_of_origin = author.host == origin or not author.can_be_proved
        is_of_target = addressed.host == record.to or not addressed.can_be_proved
        if not is_of_origin or not is_of_target:
            raise MalformedLine(f"{record.command} from '{author}' to '{addressed}'")
        return record._replace(ends=(author.seen_from(own), addressed.seen_from(own)))


def _check_place(record: EventRecord) -> None:
    """Refuse an event outside the scope of the link that it came by. Raises MalformedLine."""
    is_direct = record.command in ADDRESSED and not record.target.lstrip(SIGNS).startswith("#")
    if is_direct != bool(record.to) or is_direct != (record.ends is not None):
        raise MalformedLine(f"{record.command} is not addressed to this host")
    channels = frozenset(map(fold, record.scope.split(",")))
    if record.scope != "*" and not is_all_within(record, channels):
        raise MalformedLine(f"{record.command} is outside the scope of the link")


def _check_scope(known: HostSnapshot, channels: frozenset[Folded]) -> None:
    """Refuse a snapshot that exceeds the scope of the link. Raises MalformedLine."""
    if not known.names <= channels:
        raise MalformedLine("the snapshot has channels outside the scope of the link")
    if known.halt is not None:
        raise MalformedLine("the snapshot has a halt, which a limited link does not carry")
    if any(not user.places for user in known.users.values()):
        raise MalformedLine("the snapshot has users who are in no channel of the link's scope")
