"""What the journal says about a listener: what it carries, and from where it is reached."""

import pytest

from culture.config.address import parse_endpoint
from culture.net.listen.exposure import describe, is_exposed


@pytest.mark.parametrize(
    ("text", "words", "exposed"),
    [
        ("127.0.0.1:6667", "127.0.0.1:6667 (plain, from this machine)", False),
        ("[::1]:6667", "[::1]:6667 (plain, from this machine)", False),
        ("unix:/run/s", "unix:/run/s (plain, from this machine)", False),
        ("0.0.0.0:6667", "0.0.0.0:6667 (plain, from everywhere, on all addresses)", True),
        ("tls:[::]:6697", "[::]:6697 (TLS, from everywhere, on all addresses)", False),
        ("10.0.0.5:6667", "10.0.0.5:6667 (plain, from its own network)", False),
        ("100.64.0.1:6667", "100.64.0.1:6667 (plain, from its own network)", False),
        ("8.8.8.8:6667", "8.8.8.8:6667 (plain, from everywhere)", True),
        ("ws:8.8.8.8:80", "8.8.8.8:80 (WebSocket, plain, from everywhere)", True),
        ("wss:8.8.8.8:443", "8.8.8.8:443 (WebSocket, TLS, from everywhere)", False),
    ],
)
def test_the_words_and_the_warning(text: str, words: str, exposed: bool):
    endpoint = parse_endpoint(text)
    assert describe(endpoint.address, endpoint.carrier) == words
    assert is_exposed(endpoint.address, endpoint.carrier) is exposed
