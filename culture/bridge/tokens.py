"""Bearer tokens: 256 random bits, of which only a hash is stored."""

import hashlib
import secrets
from typing import Final

PREFIX: Final = "culture_"


def new_token() -> str:
    """Return a new token. The prefix lets people and secret scanners recognise it."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token. A salt or a slow hash adds nothing to 256 random bits."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
