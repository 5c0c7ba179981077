"""Verify the bearer token of a request: a token of ours, or an OAuth token of the configured issuer."""

import asyncio
from collections.abc import Callable

from mcp.server.auth.provider import AccessToken

from culture.bridge.access import Access
from culture.bridge.tokens import PREFIX, hash_token

# Returns whom an OAuth token names if its signature, issuer, audience and expiry are valid. It may block.
SubjectOf = Callable[[str], str | None]


class BearerVerifier:
    """Tells the MCP package which client a token belongs to."""

    def __init__(
        self, access: Access, resource: str, subject_of: SubjectOf | None, on_refused: Callable[[str], None]
    ) -> None:
        self._access = access
        self._resource = resource
        self._subject_of = subject_of
        self._on_refused = on_refused

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the client of a token, or None if the token is not valid."""
        if token.startswith(PREFIX) or self._subject_of is None:
            client, kind = self._access.by_token(token), "bearer"
        else:
            subject, kind = await asyncio.to_thread(self._subject_of, token), "oauth"
            client = self._access.by_subject(subject) if subject else None
        if client is None:
            self._on_refused(kind)
            return None
        return AccessToken(token=hash_token(token), client_id=client.name, scopes=[], resource=self._resource)
