"""IRCv3 draft/account-registration: making an account for oneself."""

import dataclasses
from pathlib import Path

import pytest
from support.accounts import accounts_in
from support.network import Network

from culture.config.ircd import AccountsConfig
from culture.ircd.commands.session.negotiation import announce_offers
from culture.net.auth.accounts import StoredAccounts
from culture.store.accounts import Accounts


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return accounts_in(tmp_path)


def make_network(store: Accounts | None, **config: object) -> Network:
    authenticator = StoredAccounts(store) if store else None
    options = {"accounts": AccountsConfig(registration=True), "nick_policy": "open", **config}
    return Network(authenticator=authenticator, **options)


def test_an_account_is_made_and_its_maker_is_logged_in(accounts: Accounts):
    client = make_network(accounts).client("ori")
    client.send("REGISTER * * sesame")
    assert client.lines() == [
        ":spark REGISTER SUCCESS ori :Account created",
        ":spark 900 ori ori!ori@spark ori :You are now logged in as ori",
    ]
    assert accounts.verify("ori", "sesame") == "ori"
    client.send("REGISTER * * again", "VERIFY ori 123")
    assert client.lines() == [
        ":spark FAIL REGISTER ALREADY_AUTHENTICATED ori :You are already logged in",
        ":spark FAIL VERIFY ALREADY_AUTHENTICATED ori :You are already logged in",
    ]


def test_before_registration_it_waits_its_turn(accounts: Accounts):
    client = make_network(accounts).connect()
    client.send("CAP LS 302")
    assert " draft/account-registration=before-connect " in client.lines()[0]
    client.send("REGISTER * * sesame")
    assert client.lines() == [":spark FAIL REGISTER NEED_NICK * :Choose a nick first"]
    client.send_bytes(b"NICK ori\r\nREGISTER ORI a@b.example :open sesame\r\nUSER o 0 * :o\r\nCAP END\r\n")
    assert client.numerics()[:3] == ["REGISTER", "900", "001"]
    assert accounts.verify("ori", "open sesame") == "ori"


def test_on_a_server_with_a_password_one_has_to_be_in_first(accounts: Accounts):
    network = make_network(accounts, password_credential="door")
    client = network.connect()
    client.send("CAP LS 302")
    assert " draft/account-registration " in client.lines()[0]
    client.send("NICK ori", "REGISTER * * sesame")
    assert client.lines() == [":spark FAIL REGISTER COMPLETE_CONNECTION_REQUIRED :Finish connecting first"]
    client.send("VERIFY ori 123")
    assert client.lines() == [":spark FAIL VERIFY COMPLETE_CONNECTION_REQUIRED :Finish connecting first"]
    assert accounts.list() == []


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("REGISTER bo * x", "ACCOUNT_NAME_MUST_BE_NICK bo"),
        ("REGISTER * * :", "UNACCEPTABLE_PASSWORD ori"),
        (f"REGISTER * * {'x' * 400}{'é' * 30}", None),
        ("VERIFY ori 123", "INVALID_CODE ori"),
    ],
)
def test_refusals_say_why(accounts: Accounts, typed: str, told: str | None):
    client = make_network(accounts).client("ori")
    client.send(typed)
    (line, *_) = client.lines()
    assert told is None or f" {told} :" in line
    assert (told is None) is bool(accounts.list())


def test_a_name_that_is_taken_and_parameters_that_are_missing(accounts: Accounts):
    client = make_network(accounts).client("ori")
    accounts.add("Ori", "x")
    client.send("REGISTER * * y", "REGISTER * *")
    assert client.lines() == [
        ":spark FAIL REGISTER ACCOUNT_EXISTS ori :There is already an account of that name",
        ":spark 461 ori REGISTER :Not enough parameters",
    ]


def test_where_an_account_is_required_clients_are_told_and_can_make_one(accounts: Accounts):
    network = make_network(accounts, accounts=AccountsConfig(registration=True, required=True))
    stranger, maker = network.connect(), network.connect()
    for client in (stranger, maker):
        client.send("CAP REQ draft/account-registration", "NICK ori", "USER o 0 * :o")
        client.lines()
    stranger.send("CAP END")
    assert stranger.lines()[0] == (
        ":spark FAIL * ACCOUNT_REQUIRED :This server requires an account; log in by SASL"
    )
    maker.send("NICK ori", "REGISTER * * sesame", "CAP END")
    lines = maker.lines()
    assert " draft/ACCOUNTREQUIRED " in "".join(line for line in lines if " 005 " in line)


def test_where_it_is_not_offered_nobody_makes_one(accounts: Accounts):
    client = make_network(accounts, accounts=AccountsConfig()).connect()
    client.send("CAP LS 302", "CAP REQ draft/account-registration", "NICK ori", "REGISTER * * x")
    *listed, refused, failed = client.lines()
    assert "account-registration" not in " ".join(listed)
    assert refused == ":spark CAP * NAK :draft/account-registration"
    assert " FAIL REGISTER TEMPORARILY_UNAVAILABLE ori :" in failed
    client.send("VERIFY ori 123")
    assert " FAIL VERIFY TEMPORARILY_UNAVAILABLE ori :" in client.lines()[0]
    assert accounts.list() == []


def test_when_there_is_nobody_to_ask_it_may_work_later():
    client = make_network(None).client("ori")
    client.send("REGISTER * * x")
    assert client.lines() == [
        ":spark FAIL REGISTER TEMPORARILY_UNAVAILABLE ori :Accounts cannot be created right now"
    ]


def test_who_listens_learns_that_it_is_offered_now_and_that_it_is_not_any_more(accounts: Accounts):
    network = make_network(accounts, accounts=AccountsConfig())
    modern, old = network.client("modern"), network.client("old")
    listening = network.client("listening", caps="cap-notify")
    modern.send("CAP LS 302")
    modern.lines()
    before = network.ircd.config
    after = dataclasses.replace(before, accounts=AccountsConfig(registration=True))
    network.ircd.reconfigure(after, {})
    announce_offers(network.ircd, before)
    assert modern.lines() == [":spark CAP modern NEW :draft/account-registration=before-connect"]
    assert listening.lines() == [":spark CAP listening NEW :draft/account-registration"]
    modern.send("CAP REQ draft/account-registration")
    modern.lines()
    network.ircd.reconfigure(before, {})
    announce_offers(network.ircd, after)
    assert modern.lines() == [":spark CAP modern DEL :draft/account-registration"]
    assert "draft/account-registration" not in modern.session.caps
    assert old.lines() == []


def test_a_name_that_is_taken_is_said_to_be_before_a_nick_is_asked_for(accounts: Accounts):
    """IRCv3 draft/account-registration, REGISTER: ACCOUNT_EXISTS for an account that is named."""
    accounts.add("ori", "x")
    client = make_network(accounts).connect()
    client.send("CAP LS 302")
    client.lines()
    client.send("REGISTER ori * sesame", "REGISTER bo * sesame", "REGISTER * * sesame")
    assert client.lines() == [
        ":spark FAIL REGISTER ACCOUNT_EXISTS ori :There is already an account of that name",
        ":spark FAIL REGISTER NEED_NICK * :Choose a nick first",
        ":spark FAIL REGISTER NEED_NICK * :Choose a nick first",
    ]
    client.send("NICK bo", "REGISTER ORI * sesame", "REGISTER lea * sesame")
    assert client.lines() == [
        ":spark FAIL REGISTER ACCOUNT_EXISTS ORI :There is already an account of that name",
        ":spark FAIL REGISTER ACCOUNT_NAME_MUST_BE_NICK lea :The account name must be your nick",
    ]


def test_registration_before_connecting_can_be_switched_off(accounts: Accounts):
    """IRCv3 draft/account-registration, capability: without `before-connect` one has to be connected."""
    policy = AccountsConfig(registration=True, registration_before_connect=False)
    client = make_network(accounts, accounts=policy).connect()
    client.send("CAP LS 302", "NICK ori")
    assert " draft/account-registration " in " ".join(client.lines())
    client.send("REGISTER * * sesame", "VERIFY ori 123")
    assert client.lines() == [
        ":spark FAIL REGISTER COMPLETE_CONNECTION_REQUIRED :Finish connecting first",
        ":spark FAIL VERIFY COMPLETE_CONNECTION_REQUIRED :Finish connecting first",
    ]
    client.send("USER o 0 * :o", "CAP END", "REGISTER * * sesame")
    assert client.lines()[-2] == ":spark REGISTER SUCCESS ori :Account created"


def test_an_address_can_be_required(accounts: Accounts):
    """IRCv3 draft/account-registration, capability: `email-required`."""
    policy = AccountsConfig(registration=True, email_required=True)
    network = make_network(accounts, accounts=policy)
    client = network.connect()
    client.send("CAP LS 302")
    assert " draft/account-registration=before-connect,email-required " in " ".join(client.lines())
    client.send("NICK ori")
    for address in (
        "*",
        "ori",
        "@example.org",
        "ori@",
        "o ri@example.org",
        "ori@exa mple",
        "a@b@c",
        "x@y\x07z",
    ):
        client.send(f"REGISTER * :{address}" if " " in address else f"REGISTER * {address} sesame")
    client.send(f"REGISTER * {'o' * 250}@example.org sesame", "REGISTER * :ori @example.org sesame")
    told = client.lines()
    assert all(
        line.startswith((":spark FAIL REGISTER INVALID_EMAIL ori :", ":spark 461 ")) for line in told
    ), told
    assert accounts.list() == []
    client.send("REGISTER * ori+irc@mail.example.org sesame")
    assert client.lines()[0] == ":spark REGISTER SUCCESS ori :Account created"
    (note,) = [note for note in network.ircd.notes.take() if note.kind == "account-made"]
    assert "ori+irc@mail.example.org" in note.text


def test_where_no_address_is_required_any_is_taken(accounts: Accounts):
    network = make_network(accounts)
    client = network.client("ori")
    client.send("REGISTER * nonsense sesame")
    assert client.lines()[0] == ":spark REGISTER SUCCESS ori :Account created"
    assert not [note for note in network.ircd.notes.take() if "nonsense" in note.text]
