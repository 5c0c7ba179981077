"""IRCv3 draft/account-registration: making an account for oneself."""

import dataclasses
from pathlib import Path

import pytest
from support.accounts import accounts_in
from support.network import Network

from culture.config.ircd import AccountsConfig
from culture.ircd.commands.negotiation import announce_offers
from culture.net.authenticator import StoredAccounts
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
        ":spark REGISTER SUCCESS ori :The account is made",
        ":spark 900 ori ori!ori@spark ori :You are now logged in as ori",
    ]
    assert accounts.verify("ori", "sesame") == "ori"
    client.send("REGISTER * * again", "VERIFY ori 123")
    assert client.lines() == [
        ":spark FAIL REGISTER ALREADY_AUTHENTICATED ori :You are logged in already",
        ":spark FAIL VERIFY ALREADY_AUTHENTICATED ori :You are logged in already",
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
    accounts.add("Ori", "x")
    client = make_network(accounts).client("ori")
    client.send("REGISTER * * y", "REGISTER * *")
    assert client.lines() == [
        ":spark FAIL REGISTER ACCOUNT_EXISTS ori :There is an account of that name already",
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
        ":spark FAIL * ACCOUNT_REQUIRED :This server is for those who log in (SASL)"
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
        ":spark FAIL REGISTER TEMPORARILY_UNAVAILABLE ori :No account can be made right now"
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
