"""Tombstones: users by former nick, and empty channels, that late events from peers may still refer to."""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from culture.ircd.model.channel import Channel
from culture.names import Folded, fold

# The most entries that are kept besides the pinned ones.
MAX_ENTRIES: Final = 1000

Key = TypeVar("Key")
Value = TypeVar("Value")


class Tombstones(Generic[Key, Value]):
    """A bounded map of former names; the oldest entries are evicted first."""

    def __init__(self) -> None:
        # Without peers nobody sends late events, so nothing is kept.
        self.enabled = False
        self._values: dict[Key, Value] = {}
        self._pinned: dict[Key, Value] = {}

    def add(self, key: Key, value: Value, *, pinned: bool = False) -> None:
        """Remember a value under its former key. Pinned entries are never evicted, only removed by pop()."""
        if self.enabled:
            self.pop(key)
            (self._pinned if pinned else self._values)[key] = value
            if len(self._values) > MAX_ENTRIES:
                del self._values[next(iter(self._values))]

    def get(self, key: Key) -> Value | None:
        """Return the value that had this key, or None."""
        return self._values.get(key, self._pinned.get(key))

    def values(self) -> Iterable[Value]:
        """Return a copy of all values, the pinned ones last."""
        return [*self._values.values(), *self._pinned.values()]

    def pop(self, key: Key) -> Value | None:
        """Remove and return the value that had this key, or None."""
        return self._values.pop(key, self._pinned.pop(key, None))


class EmptyChannels(Tombstones[Folded, Channel]):
    """Channels without members here, which members on other hosts may still be in or have just joined.

    A channel is torn while hosts are out of reach whose users were in it (`Channel.torn`).
    """

    def add_channel(self, channel: Channel) -> None:
        """Keep an empty channel; pin it while it is torn.

        Pinning keeps a client from evicting such channels by creating and leaving many others.
        """
        self.add(channel.key, channel, pinned=bool(channel.torn))

    def torn(self) -> dict[Folded, Channel]:
        """Return the torn channels."""
        return {channel.key: channel for channel in self.values() if channel.torn}

    def find_torn(self, name: str) -> Channel | None:
        """Return the torn channel of this name, or None."""
        channel = self.get(fold(name))
        return channel if channel is not None and channel.torn else None

    def mend(self, host: str) -> None:
        """Record that a host is back: unpin the channels that no other lost host may have members in."""
        for channel in self.values():
            channel.torn -= {host}
            self.add_channel(channel)
