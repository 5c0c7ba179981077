"""Nicks that belong to accounts."""

from pathlib import Path

import pytest
from support.accounts import accounts_in
from support.network import Network

from culture.config.ircd import AccountsConfig, OperConfig
from culture.errors import TemporaryError
from culture.ircd.session import Phase
from culture.net.auth.accounts import StoredAccounts

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
    client = Network(accounts=AccountsConfig(reserve_nicks=True), account_names=None).connect()
    client.send("NICK spark-ori", "USER o 0 * :o")
    assert client.numerics() == ["433"]


@pytest.fixture
def shipped(tmp_path: Path) -> Network:
    """As configured by default, with an account and an operator."""
    opers = (OperConfig("root", account="admin"), OperConfig("watch", password_credential="watch"))
    return Network(authenticator=StoredAccounts(accounts_in(tmp_path, "ori", "spark-lea")), opers=opers)


@pytest.mark.parametrize("nick", ["spark-ori", "SPARK-ORI", "spark-lea", "spark-admin"])
def test_nicks_of_accounts_and_operators_are_reserved_by_default(shipped: Network, nick: str):
    stranger, bo = shipped.connect(), shipped.client("spark-bo")
    stranger.send(f"NICK {nick}", "USER o 0 * :o")
    bo.send(f"NICK {nick}")
    assert stranger.lines() == [f":spark 433 * {nick} :{RESERVED}"]
    assert bo.lines() == [f":spark 433 spark-bo {nick} :{RESERVED}"]


@pytest.mark.parametrize(
    ("nick", "account"), [("spark-ori", "ori"), ("spark-lea", "spark-lea"), ("spark-admin", "ADMIN")]
)
def test_their_owners_have_them(shipped: Network, nick: str, account: str):
    assert shipped.client(nick, account=account).session.user.nick == nick


def test_nicks_of_operators_are_reserved_in_any_case_and_the_journal_knows():
    network = Network(accounts=AccountsConfig(reserve_nicks=False), opers=(OperConfig("x", account="admin"),))
    stranger = network.client("spark-bo")
    stranger.send("NICK spark-admin")
    assert stranger.numerics() == ["433"]
    (note,) = network.ircd.notes.take()
    assert note.kind == "impersonation-refused"


def test_an_operator_by_password_alone_has_no_nick(shipped: Network):
    """Nobody could take it before they typed the password."""
    assert shipped.client("spark-watch").session.user.nick == "spark-watch"


class Names:
    """Tells at once, or cannot tell."""

    def __init__(self, *names: str, can_tell: bool = True) -> None:
        self._names, self._can_tell = names, can_tell

    def find(self, name: str) -> str | None:
        if not self._can_tell:
            raise TemporaryError("busy")
        return name if name in self._names else None


def test_it_is_told_at_once_where_that_is_possible():
    network = Network(account_names=Names("ori"))
    network.client("spark-bo")
    stranger = network.connect()
    network.ircd.received(stranger.session, b"NICK spark-ori")
    network.ircd.received(stranger.session, b"USER o 0 * :o")
    assert network.ircd.take_questions() == []
    assert stranger.numerics() == ["433"]


def test_while_it_cannot_be_told_somebody_is_asked():
    network = Network(account_names=Names(can_tell=False))
    stranger = network.connect()
    stranger.send("NICK spark-ori", "USER o 0 * :o")
    assert stranger.numerics() == ["433"]
