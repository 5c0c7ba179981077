"""Quota for writes to history: a client over its quota is throttled until its token bucket has refilled.

The length of a line says little about its cost on disk: a line with eight targets becomes eight messages, and
a nick change becomes a row in each channel. So the quota counts recorded bytes, not received ones.
"""

from collections.abc import Callable, Hashable
from typing import Final

from culture.config.skills import HistoryConfig
from culture.net.limits.token_bucket import Rate, TokenBucket

# The burst, in seconds of the rate.
BURST_S: Final = 300
# Most clients with a bucket. Beyond this, idle clients are forgotten.
MAX_CLIENTS: Final = 1024


class HistoryQuota:
    """A token bucket for each client and one for all of them. One token is one byte."""

    def __init__(self, config: Callable[[], HistoryConfig], now: Callable[[], float]) -> None:
        """`config` returns the current configuration, which a reload may change."""
        self._config = config
        self._now = now
        self._per_client = self._in_total = 0
        self._clients: dict[Hashable, TokenBucket] = {}
        self._total: TokenBucket | None = None

    @property
    def is_on(self) -> bool:
        """Return whether a quota is configured."""
        config = self._config()
        return bool(config.client_bytes_per_s or config.total_bytes_per_s)

    def charge(self, client: Hashable, size: int) -> bool:
        """Charge a client for `size` bytes, and return whether it is now over its quota."""
        if not size or not self.is_on:
            return False
        self._follow_config()
        if self._total is not None:
            self._total.owe(size)
        if self._per_client:
            self._bucket(client).owe(size)
        return self.wait_s(client) > 0

    def wait_s(self, client: Hashable) -> float:
        """Return how long a client has to wait before it may write again."""
        if not self._clients and self._total is None:
            return 0.0
        self._follow_config()
        buckets = (self._clients.get(client), self._total)
        return max((bucket.wait_s(self._now()) for bucket in buckets if bucket is not None), default=0.0)

    def _bucket(self, client: Hashable) -> TokenBucket:
        if client not in self._clients:
            if len(self._clients) >= MAX_CLIENTS:
                self._forget_idle_clients()
            self._clients[client] = TokenBucket(_rate(self._per_client), self._now())
        return self._clients[client]

    def _forget_idle_clients(self) -> None:
        """Forget clients with full buckets, or the oldest client if there are none."""
        now = self._now()
        for client in [each for each, bucket in self._clients.items() if bucket.is_full(now)]:
            del self._clients[client]
        if len(self._clients) >= MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]

    def _follow_config(self) -> None:
        config = self._config()
        rates = (config.client_bytes_per_s, config.total_bytes_per_s)
        if rates != (self._per_client, self._in_total):
            self._per_client, self._in_total = rates
            self._clients.clear()
            self._total = TokenBucket(_rate(rates[1]), self._now()) if rates[1] else None


def _rate(bytes_per_s: int) -> Rate:
    return Rate(bytes_per_s, bytes_per_s * BURST_S)
