"""This server, as the mesh sees it: what it tells of its users, and what it takes of those of other hosts."""

from collections.abc import Sequence
from typing import Final

from culture.ircd.channel import PREFIXES
from culture.ircd.core import Ircd
from culture.ircd.delivery import Delivery
from culture.ircd.mesh.arriving import Arriving, send_all
from culture.ircd.mesh.guests import remove_guest
from culture.ircd.mesh.lines import read_lines, snapshot_lines
from culture.ircd.mesh.taking import Taking
from culture.names import Folded, fold
from culture.protocol.happening import SEEN, SPOKEN, Happening
from culture.protocol.line import MalformedLine

TOLD_AGAIN: Final = SPOKEN | SEEN
"""What clients are told that happened while a host was away for a moment. For all else, and for those who did
not see the host all the while, there is the snapshot that follows."""


class MeshHost:
    def __init__(self, ircd: Ircd) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._taking = Taking(ircd)
        self._shown: set[str] = set()

    def shown(self) -> Sequence[str]:
        """Also those whose users another process knew, until the mesh says that they are lost."""
        return sorted(self._shown.union(origin for origin, guests in self._state.guests.items() if guests))

    def begin_generation(self, generation: int) -> None:
        self._ircd.record.begin(generation)

    def snapshot(self, origin: str, channels: frozenset[Folded] | None) -> Sequence[str]:
        return snapshot_lines(self._state, "" if origin == self._ircd.name else origin, channels)

    def take_snapshot(
        self, origin: str, lines: Sequence[str], channels: frozenset[Folded] | None = None
    ) -> None:
        known = read_lines(lines)
        if channels is not None and not known.names <= channels:
            raise MalformedLine("a snapshot of channels that the link is not for")
        was_shown = self._is_shown(origin)
        told = Delivery(is_recorded=False)
        Arriving(self._ircd, origin, known, told).run()
        send_all(self._ircd, told, "" if was_shown else f"netjoin {self._ircd.name} {origin}")
        self._shown.add(origin)

    def take(self, happening: Happening, *, is_replayed: bool) -> None:
        if happening.scope != "*" and not _is_within(happening):
            raise MalformedLine(f"{happening.command} where the link is not for")
        taken = self._localized(happening)
        self._ircd.record.took(taken)
        if is_replayed and taken.command not in TOLD_AGAIN:
            return
        if self._is_shown(taken.origin) or (taken.to and not is_replayed) or taken.command == "RENAME":
            self._taking.carry_out(taken, is_replayed=is_replayed)

    def write_down(self, happening: Happening) -> None:
        self._ircd.record.took(self._localized(happening))
        if happening.command == "RENAME" and happening.origin:
            # Who was in the channel then, and is here, has not gone with it yet.
            self._taking.carry_out(happening, is_replayed=True)

    def lost(self, origins: Sequence[str], between: tuple[str, str]) -> None:
        told = Delivery(is_recorded=False)
        for origin in origins:
            self._state.tear(origin)
            for user in [*self._state.guests.get(origin, ())]:
                remove_guest(self._ircd, user, " ".join(between), told)
            self._shown.discard(origin)
        send_all(self._ircd, told, f"netsplit {' '.join(between)}")

    def _is_shown(self, origin: str) -> bool:
        return origin in self._shown or bool(self._state.guests.get(origin))

    def _localized(self, happening: Happening) -> Happening:
        """A direct message with its ends as they are known here: an account is one of its host."""
        if happening.ends is None or not happening.origin:
            return happening
        one, other = (self._end(end, happening.origin) for end in happening.ends)
        return happening._replace(ends=(one, other))

    def _end(self, end: str, origin: str) -> str:
        if not end.startswith("account:"):
            return end
        account, _, host = end.partition("@")
        if not host:
            return f"{account}@{origin}"
        return account if host == self._ircd.name else end


def _is_within(happening: Happening) -> bool:
    """Whether it happened in the channels, and nowhere else, that the way it came is limited to."""
    name = happening.target.lstrip("".join(PREFIXES.values()))
    names = [name] if name.startswith("#") else [channel for channel, _ in happening.channels]
    return bool(names) and {*map(fold, names)} <= {*happening.scope.split(",")}
