"""Hash passwords for storage: scrypt for SASL PLAIN, SCRAM keys for SCRAM-SHA-256."""

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass
from typing import Final

SALT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """The work factors. The defaults take some 100 ms each on a small machine."""

    scrypt_n: int = 2**15
    # Clients with Cyrus SASL, such as Pidgin, refuse more.
    scram_iterations: int = 2**16


@dataclass(frozen=True, slots=True)
class ScramSecret:
    """What a server stores for SCRAM-SHA-256 instead of the password (RFC 5802 section 3)."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def prepared(password: str) -> bytes:
    """Normalize a password, so that different ways to type it are equal (SASLprep, RFC 4013 section 2)."""
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char
        for char in password
        if not stringprep.in_table_b1(char)
    )
    return unicodedata.normalize("NFKC", mapped).encode()


def hash_password(password: str, cost: Cost) -> str:
    """Return the scrypt hash of a password with a new salt."""
    salt = secrets.token_bytes(SALT_BYTES)
    return f"scrypt${cost.scrypt_n}${_text(salt)}${_text(_scrypt(password, salt, cost.scrypt_n))}"


def nobodys_password(cost: Cost) -> str:
    """Return a hash that takes as long to check as any other and that no password matches."""
    return f"scrypt${cost.scrypt_n}${_text(secrets.token_bytes(SALT_BYTES))}${_text(secrets.token_bytes(32))}"


def is_password(password: str, hashed: str) -> bool:
    """Return whether a password matches its scrypt hash."""
    _, n, salt, expected = hashed.split("$")
    return hmac.compare_digest(_scrypt(password, _raw(salt), int(n)), _raw(expected))


def scram_secret(password: str, salt: bytes, iterations: int) -> ScramSecret:
    """Derive StoredKey and ServerKey from a password (RFC 5802 section 3)."""
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return ScramSecret(salt, iterations, stored_key, hmac.digest(salted, b"Server Key", "sha256"))


def new_scram_secret(password: str, cost: Cost) -> ScramSecret:
    """Derive a SCRAM secret with a new salt."""
    return scram_secret(password, secrets.token_bytes(SALT_BYTES), cost.scram_iterations)


def format_scram(secret: ScramSecret) -> str:
    """Format a secret for storage (RFC 5803 section 3)."""
    keys = f"{_text(secret.stored_key)}:{_text(secret.server_key)}"
    return f"SCRAM-SHA-256${secret.iterations}:{_text(secret.salt)}${keys}"


def parse_scram(text: str) -> ScramSecret:
    """Parse the stored form of a secret."""
    _, work, keys = text.split("$")
    iterations, _, salt = work.partition(":")
    stored_key, _, server_key = keys.partition(":")
    return ScramSecret(_raw(salt), int(iterations), _raw(stored_key), _raw(server_key))


def _scrypt(password: str, salt: bytes, n: int) -> bytes:
    # OpenSSL allows only 32 MiB by default.
    return hashlib.scrypt(prepared(password), salt=salt, n=n, r=8, p=1, maxmem=n * 2048, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _raw(text: str) -> bytes:
    return base64.b64decode(text)
