"""Channels that everybody left: elsewhere somebody may have come in before that, or be in it all the time."""

from culture.ircd.channel import Channel
from culture.ircd.chase import Chase
from culture.names import Folded, fold


class Emptied(Chase[Folded, Channel]):
    def put(self, channel: Channel) -> None:
        """Who makes many channels, and leaves them, opens none that others may be in."""
        self.remember(channel.key, channel, is_lasting=bool(channel.torn))

    def is_torn(self, name: str) -> bool:
        """Whether users who were lost with their hosts may be in a channel, and nobody else is."""
        left = self.find(fold(name))
        return left is not None and bool(left.torn)

    def mend(self, host: str) -> None:
        for channel in self.values():
            channel.torn -= {host}
            self.put(channel)
