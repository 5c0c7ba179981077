"""An HTTP request closes the connection at its first line (cross-protocol attacks by web pages)."""

import pytest
from support.network import Network

from culture.ircd.session import Phase

BODY = ["Host: spark:6667", "Content-Type: text/plain", "", "NICK spark-evil", "USER x 0 * :x", "JOIN #ops"]


@pytest.mark.parametrize(
    "request_line",
    [
        "GET / HTTP/1.1",
        "POST / HTTP/1.1",
        "PUT /x HTTP/1.1",
        "HEAD / HTTP/1.0",
        "OPTIONS * HTTP/1.1",
        "CONNECT spark:6667 HTTP/1.1",
        "DELETE /x HTTP/1.1",
        "TRACE / HTTP/1.1",
        "PATCH /x HTTP/1.1",
        "PROPFIND / HTTP/1.1",
        "PRI * HTTP/2.0",
        "post / http/1.1",
        "POST",
        "GET /",
        "REPORT /x HTTP/1.1",
        "NICK /spark-evil HTTP/1.1",
        f"POST /{'x' * 600} HTTP/1.1",
    ],
)
def test_an_http_request_closes_the_connection_before_its_body_is_read(request_line: str):
    network = Network()
    browser = network.connect()
    browser.send_bytes("\r\n".join([request_line, *BODY, ""]).encode())
    assert browser.lines() == ["ERROR :Closing Link: spark (This is an IRC server, not a web server)"]
    assert browser.is_closed
    assert network.ircd.state.find_user("spark-evil") is None


def test_a_request_that_is_not_utf8_is_one_all_the_same():
    browser = Network().connect()
    browser.send_bytes(b"POST /\xff HTTP/1.1\r\nNICK spark-evil\r\n")
    assert browser.is_closed


def test_a_client_that_is_registered_is_told_that_there_is_no_such_command():
    ori = Network().client("spark-ori", "#a")
    ori.send("GET / HTTP/1.1", "CONNECT thor", "PRIVMSG #a :GET / HTTP/1.1")
    assert ori.numerics() == ["421", "481"]
    assert ori.session.phase is Phase.REGISTERED


def test_a_client_that_names_a_verb_elsewhere_is_let_in():
    client = Network().connect()
    client.send("CAP LS 302", "NICK spark-get", "USER get 0 * :I like HTTP/2", "CAP END")
    assert "001" in client.numerics()
