"""Decide who a client of the bridge is, whom it may speak as, and what it may use."""

import hmac
from collections.abc import Callable, Sequence
from typing import Protocol

from culture.bridge.tokens import hash_token
from culture.config.bridge import BridgeClient
from culture.errors import NotAllowedError, TemporaryError
from culture.names import fold, is_nick
from culture.protocol.masks import Mask


class Bucket(Protocol):
    """A token bucket."""

    def take(self, wanted: int, now: float) -> int:
        """Take up to `wanted` tokens, and return how many were taken."""


class Access:
    """The clients of the bridge. A reload replaces them."""

    def __init__(
        self, clients: Sequence[BridgeClient], make_bucket: Callable[[], Bucket], clock: Callable[[], float]
    ) -> None:
        self._make_bucket = make_bucket
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._clients: dict[str, BridgeClient] = {}
        self.replace(clients)

    def replace(self, clients: Sequence[BridgeClient]) -> None:
        """Use these clients from now on. The token of a removed client stops working at once."""
        self._clients = {client.name: client for client in clients}

    def by_token(self, token: str) -> BridgeClient | None:
        """Return the client with this token."""
        given = hash_token(token)
        found = None
        # All are compared, so that the time tells nothing.
        for client in self._clients.values():
            if client.token_sha256 and hmac.compare_digest(client.token_sha256, given):
                found = client
        return found

    def by_subject(self, subject: str) -> BridgeClient | None:
        """Return the client whom an OAuth token names."""
        return next((each for each in self._clients.values() if each.subject == subject), None)

    def admit(self, name: str) -> BridgeClient:
        """Return the client of a call, or raise if it was removed or calls too often."""
        client = self._clients.get(name)
        if client is None:
            raise NotAllowedError(f"there is no client '{name}' any more")
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = self._make_bucket()
        if not bucket.take(1, self._clock()):
            raise TemporaryError("too many requests", hint="wait some seconds, and read less often")
        return client


def check_sender(client: BridgeClient, sender: str) -> str:
    """Return the nick that a client speaks as, or raise if it may not speak as this sender."""
    if not sender or fold(sender) == fold(client.nick):
        return client.nick
    if is_nick(sender) and any(Mask(mask).matches(fold(sender)) for mask in client.speak_as):
        return sender
    hint = f"leave 'sender' out to speak as {client.nick}"
    raise NotAllowedError(f"this token may not speak as {sender[:64]!r}", hint=hint)


def may_use(client: BridgeClient, channel: str) -> bool:
    """Return whether a client may read and write in a channel."""
    return any(Mask(mask).matches(fold(channel)) for mask in client.channels)


def check_channel_allowed(client: BridgeClient, channel: str) -> None:
    """Raise if a client may not use a channel."""
    if not may_use(client, channel):
        allowed = ", ".join(client.channels) or "none"
        raise NotAllowedError(
            f"this token may not use the channel '{channel}'", hint=f"it may use: {allowed}"
        )


def check_wiki_allowed(client: BridgeClient, *, is_change: bool) -> None:
    """Raise if a client may not read or change the wiki."""
    if client.wiki == "none" or (is_change and client.wiki == "read"):
        what = "change" if is_change else "read"
        raise NotAllowedError(f"this token may not {what} the wiki")
