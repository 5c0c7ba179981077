"""Prove a shared secret without sending it: challenge-response by HMAC-SHA-256.

Each side sends a nonce and then the HMAC, keyed with the secret, of both nonces, both names, the protocol
version and its own role. So a proof is valid for one connection, one direction and one pair of hosts only.
"""

import hmac
import re
import secrets
from enum import StrEnum
from typing import Final, NamedTuple

VERSION: Final = "3"
NONCE_BYTES: Final = 16
_NONCE: Final = re.compile(r"[0-9a-f]{32}")


class Role(StrEnum):
    """The side of a connection: the host that dialed, or the one that was dialed."""

    CALLER = "caller"
    CALLED = "called"


def random_nonce() -> str:
    """Return a new nonce."""
    return secrets.token_hex(NONCE_BYTES)


def is_nonce(text: str) -> bool:
    """Return whether a text has the form of a nonce."""
    return _NONCE.fullmatch(text) is not None


class LinkChallenge(NamedTuple):
    """The names and nonces of one connection, which both sides sign with the secret."""

    caller: str
    called: str
    caller_nonce: str
    called_nonce: str

    def proof(self, secret: str, role: Role) -> str:
        """Return the proof of the side with this role."""
        # No part contains a line feed, so different challenges always give different texts.
        text = "\n".join(("culture-link", VERSION, role, *self))
        return hmac.new(secret.encode(), text.encode(), "sha256").hexdigest()

    def is_proved_by(self, proof: str, secret: str, role: Role) -> bool:
        """Return whether this is the proof of the side with this role, compared in constant time."""
        return is_same(proof, self.proof(secret, role))


def is_same(one: str, other: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
