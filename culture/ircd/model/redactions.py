"""Messages that were redacted recently: a search, or a host that is late, may still bring them up."""

from typing import Final

from culture.names import SIGNS, Folded, fold

MOST: Final = 1000


class RecentRedactions:
    """A bounded set of messages, each known by its channel and its msgid; the oldest are evicted first.

    A redaction counts where it was made, so that nobody redacts in one channel what was said in another.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Folded, str], None] = {}

    def add(self, name: str, msgid: str) -> None:
        """Remember the redaction of a message to a channel, a part of one (`@#ops`), or a nick."""
        self._known[_place(name), msgid] = None
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def has(self, name: str, msgid: str) -> bool:
        return (_place(name), msgid) in self._known

    def clear(self) -> None:
        self._known.clear()


def _place(name: str) -> Folded:
    """Return the channel of a name, whoever in it is meant. All direct messages have one place in common."""
    channel = name.lstrip(SIGNS)
    return fold(channel) if channel.startswith("#") else Folded("")
