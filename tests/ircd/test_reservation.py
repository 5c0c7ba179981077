"""Nicks that belong to accounts."""

from pathlib import Path

import pytest
from support.accounts import accounts_in
from support.network import Network

from culture.config.ircd import AccountsConfig
from culture.ircd.session import Phase
from culture.net.authenticator import StoredAccounts

RESERVED = "Nickname is reserved to an account; log in first (SASL)"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    accounts = accounts_in(tmp_path, "Ori[]")
    config = AccountsConfig(reserve_nicks=True)
    return Network(authenticator=StoredAccounts(accounts), accounts=config, nick_policy="open")


def test_a_stranger_has_to_choose_another_nick(network: Network):
    client = network.connect()
    client.send("NICK ori{}", "USER o 0 * :o")
    assert client.lines() == [f":spark 433 * ori{{}} :{RESERVED}"]
    client.send("NICK bo")
    assert client.numerics()[0] == "001"
    client.send("NICK Ori[]", "NICK lea")
    assert client.lines() == [f":spark 433 bo Ori[] :{RESERVED}", ":bo!o@spark NICK :lea"]


def test_who_is_logged_in_may_have_it(network: Network):
    client = network.connect()
    client.session.user.account = "Ori[]"
    client.send("NICK ori{}", "USER o 0 * :o", "NICK bo", "NICK ORI[]")
    assert client.lines()[-1] == ":bo!o@spark NICK :ORI[]"


def test_who_never_ends_registration_keeps_no_nick_from_its_owner(network: Network):
    stranger, owner = network.connect(), network.connect()
    stranger.send("CAP LS 302", "NICK ori{}", "USER o 0 * :o")
    owner.send("CAP LS 302", "NICK ori[]", "USER o 0 * :o")
    owner.session.user.account = "Ori[]"
    owner.send("CAP END")
    assert owner.session.phase is Phase.REGISTERED
    stranger.lines()
    stranger.send("CAP END", "NICK ori{}", "NICK bo")
    refused, again, welcome, *_ = stranger.lines()
    assert refused == f":spark 433 * ori{{}} :{RESERVED}"
    assert again == ":spark 433 * ori{} :Nickname is already in use"
    assert " 001 bo " in welcome


def test_two_who_want_one_nick_at_the_same_time(network: Network):
    one, two = network.client("one"), network.client("two")
    for client in (one, two):
        network.ircd.received(client.session, b"NICK three")
    network.answer()
    assert one.lines() == [":one!one@spark NICK :three"]
    assert two.lines() == [":spark 433 two three :Nickname is already in use"]


def test_where_nobody_can_be_asked_a_nick_may_be_somebodys():
    client = Network(accounts=AccountsConfig(reserve_nicks=True)).connect()
    client.send("NICK spark-ori", "USER o 0 * :o")
    assert client.numerics() == ["433"]
