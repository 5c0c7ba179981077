"""Registration, as in IRCv3 capability negotiation (302) and RFC 2812 section 3.1."""

import base64
from dataclasses import replace

import pytest

from culture.client.registration import Identity, Phase, Registration
from culture.errors import NotAllowedError, TemporaryError
from culture.protocol.line import parse_line

CLAUDE = Identity("spark-claude", "claude", "an agent")


def said(registration: Registration, *lines: str) -> list[str]:
    return [answer for line in lines for answer in registration.received(parse_line(line))]


def test_it_begins_with_capabilities_so_that_the_server_waits():
    assert Registration(CLAUDE).begin() == [
        "CAP LS 302",
        "NICK spark-claude",
        "USER claude 0 * :an agent",
    ]


def test_a_password_goes_before_the_nick():
    begun = Registration(Identity("spark-claude", "claude", "an agent", "s3cret")).begin()

    assert begun[:3] == ["CAP LS 302", "PASS :s3cret", "NICK spark-claude"]


def test_it_asks_only_for_what_is_offered_and_wanted():
    registration = Registration(CLAUDE)

    assert said(registration, ":s CAP * LS :sasl=PLAIN server-time setname") == ["CAP REQ :server-time"]
    assert said(registration, ":s CAP * ACK :server-time") == ["CAP END"]
    assert registration.capabilities == {"server-time"}


def test_a_list_over_several_lines_is_read_to_its_end():
    registration = Registration(CLAUDE)

    assert said(registration, ":s CAP * LS * :message-tags sasl") == []
    assert said(registration, ":s CAP * LS :server-time") == ["CAP REQ :message-tags server-time"]


@pytest.mark.parametrize("answer", [":s CAP * LS :", ":s CAP * LS :sasl away-notify"])
def test_nothing_wanted_ends_the_negotiation(answer):
    assert said(Registration(CLAUDE), answer) == ["CAP END"]


def test_a_refused_request_goes_on_without():
    registration = Registration(CLAUDE)

    assert said(registration, ":s CAP * LS :server-time", ":s CAP * NAK :server-time")[-1] == "CAP END"
    assert registration.capabilities == frozenset()


def test_a_server_that_knows_no_capabilities_still_takes_us_in():
    registration = Registration(CLAUDE)

    assert said(registration, ":s 421 * CAP :Unknown command", ":s 001 spark-claude :Welcome") == []
    assert registration.phase is Phase.REGISTERED


def test_a_late_list_after_the_welcome_is_no_second_negotiation():
    registration = Registration(CLAUDE)
    said(registration, ":s CAP * LS :", ":s 001 spark-claude :Welcome")

    assert said(registration, ":s CAP spark-claude NEW :server-time", ":s CAP * ACK :server-time") == []


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (
            ":s 432 * spark-claude :nicks here begin with thor-",
            NotAllowedError,
            "nicks here begin with thor-",
        ),
        (":s 433 * spark-claude :Nickname is already in use", TemporaryError, "'spark-claude' is in use"),
        (":s 464 * :Password incorrect", NotAllowedError, "Password incorrect"),
        (":s 465 * :You are banned", NotAllowedError, "You are banned"),
        ("ERROR :Closing link: too many", TemporaryError, "Closing link: too many"),
    ],
)
def test_each_refusal_says_what_the_server_said(line, error, words):
    with pytest.raises(error, match=words):
        said(Registration(CLAUDE), line)


BY_ACCOUNT = Identity("spark-claude", "claude", "an agent", account="claude", account_password="sesame")


def test_it_logs_in_before_it_registers():
    """IRCv3 sasl: AUTHENTICATE between the capability's ACK and CAP END."""
    registration = Registration(BY_ACCOUNT)

    assert said(registration, ":s CAP * LS :sasl=PLAIN") == ["CAP REQ :sasl"]
    assert said(registration, ":s CAP * ACK :sasl") == ["AUTHENTICATE PLAIN"]
    secret = base64.b64encode(b"\0claude\0sesame").decode()
    assert said(registration, "AUTHENTICATE +") == [f"AUTHENTICATE {secret}"]
    assert said(registration, ":s 900 spark-claude x claude :You are", ":s 903 spark-claude :ok") == [
        "CAP END"
    ]


@pytest.mark.parametrize(
    ("password_bytes", "sizes"), [(289, [396]), (292, [400, 1]), (293, [400, 4]), (592, [400, 400, 1])]
)
def test_a_long_password_is_sent_in_pieces_of_400_bytes(password_bytes, sizes):
    registration = Registration(replace(BY_ACCOUNT, account_password="x" * password_bytes))

    pieces = [line.removeprefix("AUTHENTICATE ") for line in said(registration, "AUTHENTICATE +")]

    assert [len(piece) for piece in pieces] == sizes
    assert sizes[-1] > 1 or pieces[-1] == "+"


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (":s CAP * LS :server-time", NotAllowedError, "lets nobody log in"),
        (":s 904 spark-claude :SASL authentication failed", NotAllowedError, "the account or its password"),
        (":s 905 spark-claude :SASL message too long", NotAllowedError, "does not take the account"),
        (":s 906 spark-claude :SASL aborted", TemporaryError, "did not finish"),
    ],
)
def test_not_being_logged_in_is_an_error(line, error, words):
    with pytest.raises(error, match=words):
        said(Registration(BY_ACCOUNT), line)


@pytest.mark.parametrize(
    ("account", "asked"),
    [("Spark-Claude", "CAP REQ :server-time"), ("ori", "CAP REQ :server-time sasl")],
)
def test_who_the_server_knows_by_the_unix_user_need_not_log_in(account: str, asked: str):
    registration = Registration(replace(CLAUDE, account="claude", account_password="x"))
    registration.begin()

    known = f":s 900 * *!*@s {account} :You are now logged in as {account}"
    assert said(registration, known, ":s CAP * LS :sasl=PLAIN server-time") == [asked]
