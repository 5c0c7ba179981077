"""Proofs of a secret: each is good for one connection, one role and one pair of hosts."""

import hashlib
import hmac

import pytest

from culture.federation.links.challenge import LinkChallenge, Role, is_nonce, random_nonce

ONE, OTHER = "1" * 32, "2" * 32
CHALLENGE = LinkChallenge("spark", "thor", ONE, OTHER)


def test_a_proof_is_the_hmac_of_all_that_was_agreed() -> None:
    text = f"culture-link\n3\ncaller\nspark\nthor\n{ONE}\n{OTHER}"
    expected = hmac.new(b"sesame", text.encode(), hashlib.sha256).hexdigest()

    assert CHALLENGE.proof("sesame", Role.CALLER) == expected
    assert CHALLENGE.is_proved_by(expected, "sesame", Role.CALLER)


@pytest.mark.parametrize(
    ("challenge", "secret", "role"),
    [
        (CHALLENGE, "sesame", Role.CALLED),
        (CHALLENGE, "simsim", Role.CALLER),
        (CHALLENGE, "", Role.CALLER),
        (CHALLENGE._replace(caller="thor", called="spark"), "sesame", Role.CALLER),
        (CHALLENGE._replace(caller="orin"), "sesame", Role.CALLER),
        (CHALLENGE._replace(called="orin"), "sesame", Role.CALLER),
        (CHALLENGE._replace(caller_nonce="3" * 32), "sesame", Role.CALLER),
        (CHALLENGE._replace(called_nonce="3" * 32), "sesame", Role.CALLER),
        (CHALLENGE._replace(caller_nonce=OTHER, called_nonce=ONE), "sesame", Role.CALLER),
    ],
)
def test_it_proves_nothing_else(challenge: LinkChallenge, secret: str, role: Role) -> None:
    proof = CHALLENGE.proof("sesame", Role.CALLER)

    assert not challenge.is_proved_by(proof, secret, role)


@pytest.mark.parametrize("proof", ["", "é", "x" * 64, "0" * 64, "\0"])
def test_what_is_no_proof_proves_nothing(proof: str) -> None:
    assert not CHALLENGE.is_proved_by(proof, "sesame", Role.CALLER)


def test_a_nonce_is_new_every_time() -> None:
    nonces = {random_nonce() for _ in range(1000)}

    assert len(nonces) == 1000
    assert all(map(is_nonce, nonces))
    assert not any(map(is_nonce, ("", "1", "1" * 31, "1" * 33, "G" * 32, "é" * 32)))
