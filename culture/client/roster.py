"""The members of the client's channels, as far as the server has reported them."""

from collections.abc import Iterable, Iterator

from culture.names import Folded, fold


class Channel:
    """The name of a channel and its members."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[Folded, str] = {}
        self.operators: set[Folded] = set()


class Roster:
    """The channels that the client is in."""

    def __init__(self) -> None:
        self._channels: dict[Folded, Channel] = {}

    def __contains__(self, name: str) -> bool:
        return fold(name) in self._channels

    def names(self) -> list[str]:
        """Return the names of the channels."""
        return [channel.name for channel in self._channels.values()]

    def members(self, name: str) -> list[str]:
        """Return the nicks in a channel."""
        channel = self._channels.get(fold(name))
        return list(channel.members.values()) if channel else []

    def enter(self, name: str) -> None:
        """Add a channel that the client has joined. The server reports its members next."""
        self._channels[fold(name)] = Channel(name)

    def leave(self, name: str) -> None:
        """Remove a channel that the client has left."""
        self._channels.pop(fold(name), None)

    def add(self, name: str, nicks: Iterable[str]) -> None:
        """Add members to a channel."""
        channel = self._channels.get(fold(name))
        if channel is not None:
            channel.members.update((fold(nick), nick) for nick in nicks)

    def remove(self, name: str, nick: str) -> None:
        """Remove a member from a channel."""
        channel = self._channels.get(fold(name))
        if channel is not None:
            channel.members.pop(fold(nick), None)
            channel.operators.discard(fold(nick))

    def set_operator(self, name: str, nick: str, *, is_operator: bool) -> None:
        """Record whether a member is an operator of a channel."""
        channel = self._channels.get(fold(name))
        if channel is not None:
            (channel.operators.add if is_operator else channel.operators.discard)(fold(nick))

    def is_operator(self, name: str, nick: str) -> bool:
        """Return whether a nick is an operator of a channel."""
        channel = self._channels.get(fold(name))
        return channel is not None and fold(nick) in channel.operators

    def shared_with(self, nick: str) -> list[str]:
        """Return the channels that a user is in."""
        return [channel.name for channel in self._with(nick)]

    def rename(self, old: str, new: str) -> None:
        """Follow a nick change."""
        for channel in self._with(old):
            del channel.members[fold(old)]
            channel.members[fold(new)] = new
            if fold(old) in channel.operators:
                channel.operators.remove(fold(old))
                channel.operators.add(fold(new))

    def _with(self, nick: str) -> Iterator[Channel]:
        folded = fold(nick)
        return (channel for channel in self._channels.values() if folded in channel.members)
