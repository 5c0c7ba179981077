"""Keep whether the agents of this host are halted: by a halt of the host, or by one of the whole mesh.

The halt of the mesh is a value that the last writer wins. A host that accepts a newer one from a peer
announces it as its own, so that each host decides by its own configuration whom it believes.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from culture.ircd.replication.stamps import NEVER, Stamp


class HaltScope(StrEnum):
    """How far a halt reaches."""

    HOST = "host"
    MESH = "mesh"


@dataclass(frozen=True, slots=True)
class Halt:
    """The last halt of a scope, or its end."""

    is_on: bool = False
    stamp: Stamp = NEVER
    # The nick or the Unix user of who did it.
    by: str = ""
    why: str = ""


NO_HALT: Final = Halt()


class HaltKeeper(Protocol):
    """Keeps halts across restarts of the server."""

    def load(self) -> dict[HaltScope, Halt]:
        """Return the halts of the last run."""
        ...

    def save(self, halts: dict[HaltScope, Halt]) -> None:
        """Keep these halts. It must not raise: agents are halted even if the disk is full."""
        ...


class _ForgetfulKeeper:
    def load(self) -> dict[HaltScope, Halt]:
        return {}

    def save(self, halts: dict[HaltScope, Halt]) -> None:
        pass


FORGETFUL: Final[HaltKeeper] = _ForgetfulKeeper()


class Halts:
    """The halts of this host and of the mesh, as this host knows them."""

    def __init__(self, keeper: HaltKeeper) -> None:
        self._keeper = keeper
        self._known = dict.fromkeys(HaltScope, NO_HALT) | keeper.load()

    def of(self, scope: HaltScope) -> Halt:
        """Return the last halt of a scope, or its end."""
        return self._known[scope]

    @property
    def current(self) -> tuple[HaltScope, Halt] | None:
        """Return the halt that stops agents now, that of the mesh first; None if there is none."""
        scopes = (HaltScope.MESH, HaltScope.HOST)
        return next(((scope, self._known[scope]) for scope in scopes if self._known[scope].is_on), None)

    def next_stamp(self, at: float, host: str) -> Stamp:
        """Return a stamp for a change that is made now, later than that of the last one."""
        last_ms = max(halt.stamp.at_ms for halt in self._known.values())
        return Stamp(max(int(at * 1000), last_ms + 1), host)

    def set(self, scope: HaltScope, halt: Halt) -> bool:
        """Keep a halt or its end, unless a newer one is known; return whether it was kept."""
        if halt.stamp <= self._known[scope].stamp:
            return False
        self._known[scope] = halt
        self._keeper.save(dict(self._known))
        return True
