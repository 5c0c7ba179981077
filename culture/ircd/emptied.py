"""Channels that everybody left: elsewhere somebody may have come in before that, or be in it all the time."""

from culture.ircd.channel import Channel
from culture.ircd.chase import Chase
from culture.names import Folded, fold


class Emptied(Chase[Folded, Channel]):
    def put(self, channel: Channel) -> None:
        """Who makes many channels, and leaves them, opens none that others may be in."""
        self.remember(channel.key, channel, is_lasting=bool(channel.torn))

    def torn(self) -> dict[Folded, Channel]:
        """Those that users may be in who were lost with their hosts."""
        return {channel.key: channel for channel in self.values() if channel.torn}

    def find_torn(self, name: str) -> Channel | None:
        left = self.find(fold(name))
        return left if left is not None and left.torn else None

    def mend(self, host: str) -> None:
        for channel in self.values():
            channel.torn -= {host}
            self.put(channel)
