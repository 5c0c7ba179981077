"""One SASL exchange in the chunks in which IRC carries it (IRCv3 sasl-3.1)."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from culture.config.ircd import AuthenticatorName
from culture.ircd.sasl.external import External
from culture.ircd.sasl.oauthbearer import OauthBearer
from culture.ircd.sasl.plain import Plain
from culture.ircd.sasl.scram import ScramSha256
from culture.ircd.sasl.step import Mechanism, SaslFailure

CHUNK: Final = 400
EMPTY: Final = "+"
# A whole response, which may be a long token.
RESPONSE_CHARS: Final = 16 * CHUNK

# Whom each asks. It is made for a connection with this certificate, or with none.
MECHANISMS: Final[dict[str, tuple[AuthenticatorName, Callable[[str], Mechanism]]]] = {
    "PLAIN": ("password", lambda fingerprint: Plain()),
    "EXTERNAL": ("certificate", External),
    "SCRAM-SHA-256": ("password", lambda fingerprint: ScramSha256()),
    "OAUTHBEARER": ("token", lambda fingerprint: OauthBearer()),
}


class ChunkTooLong(Exception):
    """A single line has more than a chunk."""


@dataclass(slots=True)
class Exchange:
    """One SASL exchange with one client."""

    name: str
    mechanism: Mechanism
    _chunks: str = field(default="")

    def feed(self, chunk: str) -> bytes | None:
        """The whole response once its last chunk is there."""
        if len(chunk) > CHUNK:
            raise ChunkTooLong
        if len(self._chunks) + len(chunk) > RESPONSE_CHARS:
            raise SaslFailure("the response is too long")
        self._chunks += "" if chunk == EMPTY else chunk
        if len(chunk) == CHUNK:
            return None
        whole, self._chunks = self._chunks, ""
        try:
            return base64.b64decode(whole, validate=True)
        except ValueError:
            raise SaslFailure("not base64") from None


def chunks(data: bytes) -> Iterator[str]:
    """The other way round: a full last chunk is followed by an empty one."""
    encoded = base64.b64encode(data).decode()
    for start in range(0, len(encoded), CHUNK):
        yield encoded[start : start + CHUNK]
    if len(encoded) % CHUNK == 0:
        yield EMPTY
