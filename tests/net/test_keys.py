"""The keys of a provider where it publishes them: fetched when they are needed, and not when they are not."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair
from support.network import Clock

from culture.config import loader
from culture.config.ircd import IrcdConfig, OidcConfig
from culture.errors import ConfigError, UnavailableError
from culture.net.auth.oidc_keys import FETCH_BYTES, FRESH_S, MIN_FETCH_INTERVAL_S, KeysAtUrl, fetch_once
from culture.net.auth.oidc_tokens import TokenVerifier


class Publisher:
    """Has keys by these names, and counts how often it was asked."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.asked = 0
        self.is_away = False

    def __call__(self, url: str) -> bytes:
        self.asked += 1
        if self.is_away:
            raise ConnectionRefusedError("nobody there")
        return json.dumps({"keys": [{"kid": name} for name in self.names]}).encode()


def keys_of(publisher: Publisher) -> tuple[KeysAtUrl, Clock]:
    clock = Clock()
    return KeysAtUrl("https://id.example/keys", fetch=publisher, timer=clock), clock


def test_they_are_fetched_once_for_all_tokens():
    publisher = Publisher("one", "two")
    keys, _ = keys_of(publisher)
    assert [keys.find(name) for name in ("one", "two", "one")] == [
        [{"kid": "one"}],
        [{"kid": "two"}],
        [{"kid": "one"}],
    ]
    assert publisher.asked == 1


def test_a_new_name_is_looked_for_but_no_faster_than_the_floor_allows():
    publisher = Publisher("one")
    keys, clock = keys_of(publisher)
    keys.find("one")
    publisher.names.append("two")
    assert [keys.find("two"), keys.find("three")] == [[], []]
    assert publisher.asked == 1
    clock.advance(MIN_FETCH_INTERVAL_S)
    assert keys.find("two") == [{"kid": "two"}]
    assert publisher.asked == 2


def test_a_key_that_was_withdrawn_is_good_for_a_while_only():
    publisher = Publisher("one")
    keys, clock = keys_of(publisher)
    keys.find("one")
    publisher.names.clear()
    clock.advance(FRESH_S - 1)
    assert keys.find("one")
    clock.advance(1)
    assert keys.find("one") == []


def test_while_the_provider_is_away_its_keys_stay_good_until_they_are_old():
    publisher = Publisher("one")
    keys, clock = keys_of(publisher)
    keys.find("one")
    publisher.is_away = True
    clock.advance(FRESH_S - 1)
    assert keys.find("one")
    clock.advance(1)
    with pytest.raises(
        UnavailableError, match=r"cannot fetch the keys at 'https://id.example/keys': nobody there"
    ):
        keys.find("one")
    # Nor is it asked by everyone who tries.
    with pytest.raises(UnavailableError, match="could not be fetched a moment ago"):
        keys.find("one")
    assert publisher.asked == 2
    publisher.is_away = False
    clock.advance(MIN_FETCH_INTERVAL_S)
    assert keys.find("one")


@contextlib.contextmanager
def web(status: int, body: bytes, tls: Pair | None = None, **headers: str) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Answer, tls) as server:
        yield f"{'https' if tls else 'http'}://localhost:{server.server_port}/keys"


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler], tls: Pair | None = None) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate, tls.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_they_are_fetched_from_a_real_server():
    with web(200, b'{"keys": [{"kid": "one"}, 5]}') as url:
        assert KeysAtUrl(url).find("one") == [{"kid": "one"}]


def test_a_token_is_checked_against_keys_that_are_fetched():
    jwt = pytest.importorskip("jwt", reason="PyJWT is not installed")
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    key = ec.generate_private_key(ec.SECP256R1())
    public = {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": "one"}
    claims = {"iss": "x", "aud": "y", "exp": time.time() + 60, "preferred_username": "ori"}
    with web(200, json.dumps({"keys": [public]}).encode()) as url:
        tokens = TokenVerifier(OidcConfig(keys_url=url, issuer="x", audience="y"))
        good, other = (jwt.encode(claims, key, "ES256", headers={"kid": name}) for name in ("one", "two"))
        assert [tokens.account_of(good), tokens.account_of(other)] == ["ori", None]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (302, b"", "answered 302 Found"),
        (404, b"", "answered 404 Not Found"),
        (200, b"x" * (FETCH_BYTES + 1), f"longer than {FETCH_BYTES} bytes"),
        (200, b"[]", "not a set of keys"),
        (200, b"<html>", "Expecting value"),
    ],
)
def test_what_is_no_set_of_keys_is_told(status: int, body: bytes, words: str):
    with (
        web(status, body, Location="https://elsewhere.example/") as url,
        pytest.raises(UnavailableError, match=words),
    ):
        KeysAtUrl(url).find("one")


def test_a_server_that_takes_its_time_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        fetch_once(f"http://127.0.0.1:{silent.getsockname()[1]}/", limit_s=0.1)


def test_a_server_that_answers_in_drops_is_given_up():
    over = threading.Event()

    class Drip(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                while not over.wait(0.01):
                    self.wfile.write(b" ")

        def log_message(self, *_: object) -> None:
            pass

    with serving(Drip) as server:
        try:
            with pytest.raises(TimeoutError, match="the response takes too long"):
                fetch_once(f"http://localhost:{server.server_port}/", limit_s=0.1)
        finally:
            over.set()


def test_a_server_that_nobody_vouches_for_is_not_believed(tmp_path: Path):
    pair = make_pair(tmp_path, "localhost")
    with (
        web(200, b'{"keys": [{"kid": "one"}]}', tls=pair) as url,
        pytest.raises(UnavailableError, match="certificate verify failed"),
    ):
        KeysAtUrl(url).find("one")


def test_one_that_an_authority_vouches_for_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pair = make_pair(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
    with web(200, b'{"keys": [{"kid": "one"}]}', tls=pair) as url:
        assert KeysAtUrl(url).find("one") == [{"kid": "one"}]


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("keys_url: http://id.example/keys", "neither https://… nor http://… on this machine"),
        ("keys_url: ftp://id.example/keys", "neither https"),
        ("keys_url: https://", "neither https"),
        ("keys_url: https://id.example/, keys_file: /x", "cannot both be set"),
        ("keys_url: https://id.example/", "'keys_url' needs 'issuer' and 'audience' too"),
    ],
)
def test_where_they_may_come_from(yaml: str, words: str):
    with pytest.raises(ConfigError, match=words):
        loader.parse(f"oidc: {{{yaml}}}\n", IrcdConfig, where="ircd.yaml")
