"""Check what callers of a transport pass, before any of it becomes a line of IRC."""

from datetime import UTC, datetime
from typing import Final

from culture.client.transport.transport import MAX_LIMIT
from culture.errors import UsageError
from culture.names import is_channel

MAX_CHANNEL_BYTES: Final = 64
MAX_TEXT_BYTES: Final = 64 * 1024


def check_channel(name: str) -> str:
    """Return the name of a channel, or raise UsageError. A line end in it would begin another command."""
    try:
        is_short = len(name.encode()) <= MAX_CHANNEL_BYTES
    except UnicodeEncodeError:
        is_short = False
    if not is_short or len(name) < 2 or not is_channel(name):
        hint = f"use '#' and up to {MAX_CHANNEL_BYTES - 1} letters, digits and signs, such as #project-disk"
        raise UsageError(f"{name[:MAX_CHANNEL_BYTES]!r} is not the name of a channel", hint=hint)
    return name


def check_text(text: str) -> str:
    """Return a text that can be sent, or raise UsageError."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("the text contains a lone surrogate, which is no character") from None
    if size > MAX_TEXT_BYTES:
        hint = "write a page in the wiki and send its name"
        raise UsageError(f"the text is longer than {MAX_TEXT_BYTES // 1024} KiB", hint=hint)
    if not text.strip("\0\1\r\n\t "):
        raise UsageError("there is no text to send")
    return text


def check_limit(limit: int) -> int:
    """Return how many messages to read, or raise UsageError."""
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"'limit' must be 1 to {MAX_LIMIT}, is {limit}")
    return limit


def in_utc(time: datetime) -> datetime:
    """Return a time with its zone; a time without one is in UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
