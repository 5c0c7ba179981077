"""TokenVerifier that log in: RFC 7628 on the wire, RFC 7519 inside, a key made for the test."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.network import Client, Network

from culture.config import loader
from culture.config.ircd import IrcdConfig, OidcConfig
from culture.errors import ConfigError, UnavailableError
from culture.net.auth.accounts import StoredAccounts
from culture.net.auth.oidc_tokens import TokenVerifier
from culture.store.accounts import Accounts

jwt = pytest.importorskip("jwt", reason="PyJWT is not installed")
ec = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.ec", reason="cryptography is not installed"
)


class Provider:
    """Gives out tokens, and says by which keys they are known."""

    def __init__(self, directory: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key()))
        shared = {"kty": "oct", "k": base64.urlsafe_b64encode(b"x" * 32).decode(), "kid": "shared"}
        keys_file = directory / "keys.json"
        keys_file.write_text(json.dumps({"keys": [shared, {**public, "kid": "one"}]}))
        self.config = OidcConfig(keys_file=str(keys_file), issuer="https://id.example", audience="culture")

    def token(self, key_id: str = "one", **claims: Any) -> str:
        usual = {
            "iss": "https://id.example",
            "aud": "culture",
            "exp": time.time() + 60,
            "preferred_username": "ori",
        }
        chosen = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(chosen, self._key, "ES256", headers={"kid": key_id})


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    return Provider(tmp_path)


def test_a_good_token_names_an_account(provider: Provider):
    assert TokenVerifier(provider.config).account_of(provider.token()) == "ori"


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"preferred_username": "o r i"},
        {"preferred_username": 5},
        {"preferred_username": None},
        {"key_id": "two"},
        {"nbf": 4_000_000_000},
    ],
)
def test_any_other_token_names_nobody(provider: Provider, claims: dict[str, Any]):
    assert TokenVerifier(provider.config).account_of(provider.token(**claims)) is None


def test_who_signs_chooses_neither_key_nor_algorithm(provider: Provider):
    tokens = TokenVerifier(provider.config)
    claims = {
        "iss": "https://id.example",
        "aud": "culture",
        "exp": time.time() + 60,
        "preferred_username": "ori",
    }
    forged = [
        jwt.encode(claims, "x" * 32, "HS256", headers={"kid": "shared"}),
        jwt.encode(claims, "x" * 32, "HS256", headers={"kid": "one"}),
        jwt.encode(claims, None, "none", headers={"kid": "one"}),
        jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "one"}),
        "no.token.atall",
        "",
    ]
    assert [tokens.account_of(token) for token in forged] == [None] * len(forged)


def test_keys_that_cannot_be_read_are_an_error_of_ours(provider: Provider):
    Path(provider.config.keys_file).write_text("[]")
    with pytest.raises(UnavailableError, match=r"keys\.json' is not a file of keys"):
        TokenVerifier(provider.config).account_of(provider.token())


def test_keys_alone_are_not_enough():
    with pytest.raises(ConfigError, match="'keys_file' needs 'issuer' and 'audience' too"):
        loader.parse("oidc:\n  keys_file: /x\n", IrcdConfig, where="ircd.yaml")


@pytest.fixture
def client(provider: Provider, tmp_path: Path) -> Client:
    authenticator = StoredAccounts(Accounts(tmp_path / "accounts.db"), TokenVerifier(provider.config))
    client = Network(authenticator=authenticator, oidc=provider.config).connect()
    client.send("CAP LS 302", "CAP REQ :sasl")
    assert "sasl=PLAIN,SCRAM-SHA-256,OAUTHBEARER" in " ".join(client.lines())
    return client


def bear(client: Client, message: str) -> list[str]:
    encoded = base64.b64encode(message.encode()).decode()
    chunks = [encoded[start : start + 400] for start in range(0, len(encoded), 400)]
    client.send("AUTHENTICATE OAUTHBEARER", *(f"AUTHENTICATE {chunk}" for chunk in chunks))
    if len(encoded) % 400 == 0:
        client.send("AUTHENTICATE +")
    return client.lines()[1:]


@pytest.mark.parametrize("gs2", ["n,,", "n,a=ORI,", "y,,"])
def test_a_client_logs_in_with_a_token(client: Client, provider: Provider, gs2: str):
    lines = bear(client, f"{gs2}\x01host=irc.example\x01port=6697\x01auth=Bearer {provider.token()}\x01\x01")
    assert [line.split(" ")[1] for line in lines] == ["900", "903"]
    assert client.session.user.account == "ori"


def test_a_token_that_is_refused_is_told_why_and_then_the_exchange_ends(client: Client, provider: Provider):
    (line,) = bear(client, f"n,a=bo,\x01auth=Bearer {provider.token()}\x01\x01")
    assert base64.b64decode(line.removeprefix("AUTHENTICATE ")) == b'{"status":"invalid_token"}'
    client.send("AUTHENTICATE AQ==")
    assert client.lines() == [":spark 904 * :SASL authentication failed"]


@pytest.mark.parametrize(
    "message",
    ["", "n,,", "n,,\x01\x01", "n,,\x01auth=Basic x\x01\x01", "n,,\x01auth=Bearer \x01\x01", "auth=Bearer x"],
)
def test_what_is_no_message_of_the_mechanism_fails(client: Client, message: str):
    lines = bear(client, message) if message else bear(client, "\x00")
    assert lines == [":spark 904 * :SASL authentication failed"]


def test_where_nobody_gives_out_tokens_there_is_no_such_mechanism():
    client = Network().connect()
    client.send("CAP REQ :sasl", "AUTHENTICATE OAUTHBEARER")
    assert client.numerics()[1:] == ["908", "904"]
