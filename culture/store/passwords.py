"""Passwords at rest: scrypt for who sends one, SCRAM keys for who only proves to know it."""

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
    """How much work one guess is. The defaults take some 100 ms each on a small machine."""

    scrypt_n: int = 2**15
    scram_iterations: int = 2**16
    """Not more: clients with Cyrus SASL, as Pidgin, refuse it."""


@dataclass(frozen=True, slots=True)
class ScramSecret:
    """What a server keeps for SCRAM-SHA-256 (RFC 5802 section 3). The password is not in it."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def prepared(password: str) -> bytes:
    """Two ways of typing one password are one password (SASLprep, RFC 4013 section 2)."""
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char
        for char in password
        if not stringprep.in_table_b1(char)
    )
    return unicodedata.normalize("NFKC", mapped).encode()


def hash_password(password: str, cost: Cost) -> str:
    salt = secrets.token_bytes(SALT_BYTES)
    return f"scrypt${cost.scrypt_n}${_text(salt)}${_text(_scrypt(password, salt, cost.scrypt_n))}"


def nobodys_password(cost: Cost) -> str:
    """As much work to check as any other, and nothing fits."""
    return f"scrypt${cost.scrypt_n}${_text(secrets.token_bytes(SALT_BYTES))}${_text(secrets.token_bytes(32))}"


def is_password(password: str, hashed: str) -> bool:
    _, n, salt, expected = hashed.split("$")
    return hmac.compare_digest(_scrypt(password, _raw(salt), int(n)), _raw(expected))


def scram_secret(password: str, salt: bytes, iterations: int) -> ScramSecret:
    """RFC 5802 section 3: SaltedPassword, and the two keys made of it."""
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return ScramSecret(salt, iterations, stored_key, hmac.digest(salted, b"Server Key", "sha256"))


def new_scram_secret(password: str, cost: Cost) -> ScramSecret:
    return scram_secret(password, secrets.token_bytes(SALT_BYTES), cost.scram_iterations)


def format_scram(secret: ScramSecret) -> str:
    """RFC 5803 section 3."""
    keys = f"{_text(secret.stored_key)}:{_text(secret.server_key)}"
    return f"SCRAM-SHA-256${secret.iterations}:{_text(secret.salt)}${keys}"


def parse_scram(text: str) -> ScramSecret:
    _, work, keys = text.split("$")
    iterations, _, salt = work.partition(":")
    stored_key, _, server_key = keys.partition(":")
    return ScramSecret(_raw(salt), int(iterations), _raw(stored_key), _raw(server_key))


def _scrypt(password: str, salt: bytes, n: int) -> bytes:
    # OpenSSL refuses what needs more than 32 MiB unless told that it may.
    return hashlib.scrypt(prepared(password), salt=salt, n=n, r=8, p=1, maxmem=n * 2048, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _raw(text: str) -> bytes:
    return base64.b64decode(text)
