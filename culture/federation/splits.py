"""Which hosts are out of reach for so long that their users count as gone."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from culture.federation.hosts import Hosts


class Missed(NamedTuple):
    until: float
    between: tuple[str, str]
    """The hosts whose link broke."""


class Splits:
    def __init__(self, hosts: Hosts, timer: Callable[[], float], after_s: float) -> None:
        self._hosts = hosts
        self._timer = timer
        self._after_s = after_s
        self._paths: dict[str, tuple[str, ...]] = {}
        """The ways that there were."""
        self._missed: dict[str, Missed] = {}

    def follow_routes(self, shown: Iterable[str], *, at_once: bool) -> None:
        """After routes changed. `at_once`: whoever is missed now was waited for already."""
        for host in shown:
            if host not in self._hosts.routes and (host not in self._missed or at_once):
                path = self._paths.get(host, (host,))
                until = self._timer() + (0.0 if at_once else self._after_s)
                known = self._missed.get(host)
                if known is None or until < known.until:
                    self._missed[host] = Missed(until, self._hosts.break_between(path))
        for host, route in self._hosts.routes.items():
            self._missed.pop(host, None)
            self._paths[host] = route.path

    def over(self, shown: Collection[str]) -> dict[tuple[str, str], list[str]]:
        """The hosts that were missed for long enough, by the link that broke."""
        now = self._timer()
        gone: dict[tuple[str, str], list[str]] = {}
        for host, (until, between) in sorted(self._missed.items()):
            if until <= now:
                del self._missed[host]
                if host in shown:
                    gone.setdefault(between, []).append(host)
        return gone
