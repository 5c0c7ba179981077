"""Rate-limit failed handshakes, so that secrets cannot be guessed."""

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final

# After so many failures within WINDOW_S, further attempts with the same name and address are refused.
MAX_FAILURES: Final = 5
WINDOW_S: Final = 60.0
# The most addresses that are kept for each configured name, and for all other names together.
MAX_ADDRESSES: Final = 4096
# The IPv6 prefix that counts as one address: a subscriber controls all bits after it (RFC 6177).
_IPV6_NETWORK_BITS: Final = 64

FailureKey = tuple[str, str, bool]


class HandshakeFailures:
    """Counts failed handshakes by name and address.

    An attacker locks out only itself, not the host it claims to be: that host connects from another address,
    or presents its configured certificate, which is counted separately. Each configured name has its own
    bound, so that failures under other names cannot evict its entries.
    """

    def __init__(self, timer: Callable[[], float], names: Iterable[str]) -> None:
        """`names` are the configured ones."""
        self._timer = timer
        self._others: OrderedDict[FailureKey, deque[float]] = OrderedDict()
        self._failed: dict[str, OrderedDict[FailureKey, deque[float]]] = {
            name: OrderedDict() for name in names
        }

    def add(self, name: str, address: str, *, is_pinned: bool = False) -> None:
        """Count a failure. `is_pinned`: the caller presented the certificate configured for the name."""
        failures, key = self._of(name), (name, network_of(address), is_pinned)
        failures.setdefault(key, deque(maxlen=MAX_FAILURES)).append(self._timer())
        failures.move_to_end(key)
        oldest = next(iter(failures))
        if len(failures) > MAX_ADDRESSES or self._is_over(failures[oldest][-1]):
            del failures[oldest]

    def is_blocked(self, name: str, address: str, *, is_pinned: bool = False) -> bool:
        """Return whether a name and address have too many recent failures."""
        failures = self._of(name).get((name, network_of(address), is_pinned))
        return failures is not None and len(failures) == MAX_FAILURES and not self._is_over(failures[0])

    def _of(self, name: str) -> OrderedDict[FailureKey, deque[float]]:
        return self._failed.get(name, self._others)

    def _is_over(self, at: float) -> bool:
        return self._timer() - at > WINDOW_S


def network_of(address: str) -> str:
    """Return what counts as one address: of IPv6 the network, of all else the address itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_NETWORK_BITS), strict=False))
