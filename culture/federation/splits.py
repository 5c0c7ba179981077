"""Detect netsplits: hosts that are out of reach for so long that their users count as gone."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from culture.federation.hosts import Hosts


class MissingHost(NamedTuple):
    """A host that is out of reach, and how long it is waited for."""

    until: float
    # The hosts whose link broke.
    between: tuple[str, str]


class SplitDetector:
    """Waits for hosts that went out of reach, and reports those that do not come back in time."""

    def __init__(self, hosts: Hosts, timer: Callable[[], float], after_s: float) -> None:
        self._hosts = hosts
        self._timer = timer
        self._after_s = after_s
        # The last known route to each host.
        self._paths: dict[str, tuple[str, ...]] = {}
        self._missing: dict[str, MissingHost] = {}

    def follow_routes(self, shown: Iterable[str], *, at_once: bool) -> None:
        """Update which hosts are missing after routes changed. `at_once`: do not wait for them."""
        for host in shown:
            if host not in self._hosts.routes and (host not in self._missing or at_once):
                path = self._paths.get(host, (host,))
                until = self._timer() + (0.0 if at_once else self._after_s)
                known = self._missing.get(host)
                if known is None or until < known.until:
                    self._missing[host] = MissingHost(until, self._hosts.break_between(path))
        for host, route in self._hosts.routes.items():
            self._missing.pop(host, None)
            self._paths[host] = route.path

    def expired(self, shown: Collection[str]) -> dict[tuple[str, str], list[str]]:
        """Return and forget the hosts whose waiting time is over, by the link that broke."""
        now = self._timer()
        gone: dict[tuple[str, str], list[str]] = {}
        for host, (until, between) in sorted(self._missing.items()):
            if until <= now:
                del self._missing[host]
                if host in shown:
                    gone.setdefault(between, []).append(host)
        return gone
