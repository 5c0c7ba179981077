"""The public keys of an OpenID Connect provider (JWKS, RFC 7517): in a file, or where it publishes them."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import SplitResult, urlsplit

from culture.errors import UnavailableError

Key = dict[str, Any]
FETCH_S: Final = 5.0
FETCH_BYTES: Final = 262_144
FRESH_S: Final = 3600.0
"""A key that the provider withdrew is good for no longer than this."""
FLOOR_S: Final = 60.0
"""Tokens that name unknown keys cost anybody nothing to make: no more than one fetch in so long."""


class Keys(Protocol):
    def find(self, key_id: str | None) -> list[Key]:
        """Those of that name. Raises UnavailableError if there is no way to know."""


class KeysInFile:
    """Read every time: whoever replaces the file changes the keys."""

    def __init__(self, path: str) -> None:
        self._path = path

    def find(self, key_id: str | None) -> list[Key]:
        try:
            keys = parse_keys(Path(self._path).read_bytes())
        except (OSError, ValueError):
            raise UnavailableError(f"'{self._path}' is not a file of keys (JWKS)") from None
        return _named(keys, key_id)


class KeysAtUrl:
    """Fetched by whoever asks first, in its thread, and again for a name that is new or after a while.

    The provider may be away for a while: what was fetched before is good until it is too old.
    """

    def __init__(
        self,
        url: str,
        *,
        fetch: Callable[[str], bytes] | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._fetch = fetch or fetch_once
        self._timer = timer
        self._lock = threading.Lock()
        self._keys: list[Key] = []
        self._fetched_at = self._tried_at = -FRESH_S

    def find(self, key_id: str | None) -> list[Key]:
        with self._lock:
            now = self._timer()
            found = self._found(key_id, now)
            if not found and now - self._tried_at >= FLOOR_S:
                self._tried_at = now
                self._keys = self._fetch_keys()
                self._fetched_at = now
                found = self._found(key_id, now)
            if not found and now - self._fetched_at >= FRESH_S:
                raise UnavailableError(f"the keys at '{self._url}' could not be fetched a moment ago")
            return found

    def _found(self, key_id: str | None, now: float) -> list[Key]:
        return _named(self._keys, key_id) if now - self._fetched_at < FRESH_S else []

    def _fetch_keys(self) -> list[Key]:
        try:
            return parse_keys(self._fetch(self._url))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnavailableError(f"cannot fetch the keys at '{self._url}': {error}") from None


def parse_keys(text: bytes) -> list[Key]:
    """Raises ValueError for what is no JWKS."""
    found = json.loads(text)
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise ValueError("not a set of keys (JWKS)")
    return [key for key in keys if isinstance(key, dict)]


def fetch_once(url: str, limit_s: float = FETCH_S) -> bytes:
    """By GET, from there and nowhere else: a redirection is refused. Bounded in time and size."""
    until = time.monotonic() + limit_s
    place = urlsplit(url)
    connection = _connection(place, limit_s)
    try:
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ValueError(f"answered {response.status} {response.reason}")
        return b"".join(_pieces(response, until))
    finally:
        connection.close()


def _pieces(response: http.client.HTTPResponse, until: float) -> Iterator[bytes]:
    """As they come: the time that the socket allows begins anew with every packet."""
    size = 0
    while piece := response.read1(FETCH_BYTES + 1 - size):
        size += len(piece)
        if size > FETCH_BYTES:
            raise ValueError(f"longer than {FETCH_BYTES} bytes")
        if time.monotonic() > until:
            raise TimeoutError("it takes too long")
        yield piece


def _connection(place: SplitResult, limit_s: float) -> http.client.HTTPConnection:
    host = place.hostname or ""
    if place.scheme == "http":
        return http.client.HTTPConnection(host, place.port, timeout=limit_s)
    return http.client.HTTPSConnection(
        host, place.port, timeout=limit_s, context=ssl.create_default_context()
    )


def _named(keys: list[Key], key_id: str | None) -> list[Key]:
    return [key for key in keys if key.get("kid") == key_id]
