"""Load the public keys of an OpenID Connect provider (JWKS, RFC 7517) from a file or a URL."""

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
# Fetched keys expire after this time, so that a withdrawn key stops working.
FRESH_S: Final = 3600.0
# Least time between fetches, because anyone can send tokens that name unknown keys.
MIN_FETCH_INTERVAL_S: Final = 60.0


class Keys(Protocol):
    """A source of public keys."""

    def find(self, key_id: str | None) -> list[Key]:
        """Return the keys with this id. Raises UnavailableError if the keys cannot be loaded."""


class KeysInFile:
    """Reads the keys from a file at each call, so that a replaced file takes effect at once."""

    def __init__(self, path: str) -> None:
        self._path = path

    def find(self, key_id: str | None) -> list[Key]:
        try:
            keys = parse_keys(Path(self._path).read_bytes())
        except (OSError, ValueError):
            raise UnavailableError(f"'{self._path}' is not a file of keys (JWKS)") from None
        return _with_id(keys, key_id)


class KeysAtUrl:
    """Fetches the keys on first use, for unknown key ids and after FRESH_S, in the calling thread.

    While the provider is unreachable, cached keys remain valid until they expire.
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
            if not found and now - self._tried_at >= MIN_FETCH_INTERVAL_S:
                self._tried_at = now
                self._keys = self._fetch_keys()
                self._fetched_at = now
                found = self._found(key_id, now)
            if not found and now - self._fetched_at >= FRESH_S:
                raise UnavailableError(f"the keys at '{self._url}' could not be fetched a moment ago")
            return found

    def _found(self, key_id: str | None, now: float) -> list[Key]:
        return _with_id(self._keys, key_id) if now - self._fetched_at < FRESH_S else []

    def _fetch_keys(self) -> list[Key]:
        try:
            return parse_keys(self._fetch(self._url))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnavailableError(f"cannot fetch the keys at '{self._url}': {error}") from None


def parse_keys(text: bytes) -> list[Key]:
    """Return the keys of a JWKS document. Raises ValueError if it is not one."""
    found = json.loads(text)
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise ValueError("not a set of keys (JWKS)")
    return [key for key in keys if isinstance(key, dict)]


def fetch_once(url: str, limit_s: float = FETCH_S) -> bytes:
    """Fetch a URL by GET, without following redirects, within limits of time and size."""
    until = time.monotonic() + limit_s
    parts = urlsplit(url)
    connection = _connection(parts, limit_s)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ValueError(f"answered {response.status} {response.reason}")
        return b"".join(_pieces(response, until))
    finally:
        connection.close()


def _pieces(response: http.client.HTTPResponse, until: float) -> Iterator[bytes]:
    """Yield the body in pieces, and check the total time, which the socket's own timeout does not limit."""
    size = 0
    while piece := response.read1(FETCH_BYTES + 1 - size):
        size += len(piece)
        if size > FETCH_BYTES:
            raise ValueError(f"longer than {FETCH_BYTES} bytes")
        if time.monotonic() > until:
            raise TimeoutError("the response takes too long")
        yield piece


def _connection(parts: SplitResult, limit_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=limit_s)
    return http.client.HTTPSConnection(
        host, parts.port, timeout=limit_s, context=ssl.create_default_context()
    )


def _with_id(keys: list[Key], key_id: str | None) -> list[Key]:
    return [key for key in keys if key.get("kid") == key_id]
