"""The interface by which teams and the bridge use a chat network, whatever network it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 500


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said in a channel."""

    channel: str
    sender: str
    text: str
    # With a time zone.
    timestamp: datetime
    # Empty on networks whose messages have no ids.
    msgid: str = ""


class Transport(Protocol):
    """Sends and reads messages in channels. Every method raises CultureError if the network refuses."""

    async def send(self, channel: str, message: str, sender: str) -> None:
        """Send a text of any length to a channel under the name of a sender."""

    async def read(
        self, channel: str, since: datetime | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[Message]:
        """Return the newest messages after a time, the newest first."""

    async def create_channel(self, name: str) -> None:
        """Create a channel if it does not exist, and stay in it."""

    async def list_channels(self) -> list[str]:
        """Return the names of all channels that can be seen."""

    async def get_members(self, channel: str) -> list[str]:
        """Return the names of those who are in a channel."""


class MessageLog(Protocol):
    """Keeps what was said on networks that keep no history themselves, and the channels to be in."""

    def append(self, channel: str, sender: str, text: str, time_ms: int, msgid: str) -> None:
        """Add a message."""

    def newest(self, channel: str, since_ms: int | None, limit: int) -> list[tuple[str, str, int, str]]:
        """Return sender, text, time and msgid of the newest messages after a time, the newest first."""

    def channels(self) -> list[str]:
        """Return the channels to join again after a restart."""

    def add_channel(self, name: str) -> None:
        """Remember a channel."""
