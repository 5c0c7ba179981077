"""What the core notes for the journal: who logged in or did not, and what operators did."""

from pathlib import Path

import pytest
from support.accounts import accounts_in, log_in
from support.network import Network

from culture.config.ircd import AccountsConfig, OperConfig
from culture.ircd.recording.audit import AuditNote
from culture.net.auth.accounts import StoredAccounts


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(
        nick_policy="open",
        authenticator=StoredAccounts(accounts_in(tmp_path, "Ori")),
        accounts=AccountsConfig(registration=True),
        opers=(OperConfig("root", password_credential="root"),),
        oper_passwords={"root": "sesame"},
    )


def test_who_logs_in_is_noted_with_account_peer_and_mechanism(network: Network):
    log_in(network.connect(), "ori", "sesame")
    assert network.ircd.notes.take() == [
        AuditNote("login-succeeded", "test is logged in as 'Ori'", "test", account="Ori", mechanism="PLAIN")
    ]
    assert network.ircd.notes.take() == []


def test_who_does_not_is_noted_with_the_name_that_was_claimed(network: Network):
    log_in(network.client("bo"), "ori", "wrong")
    assert network.ircd.notes.take() == [
        AuditNote("login-failed", "bo (test) did not log in", "test", "bo", "ori", "PLAIN")
    ]


def test_a_name_that_cannot_be_one_is_not_noted(network: Network):
    """It may be the password."""
    log_in(network.connect(), "open sesame", "x")
    (note,) = network.ircd.notes.take()
    assert (note.kind, note.account) == ("login-failed", None)
    assert "sesame" not in repr(note)


def test_making_an_account_is_noted_and_logs_in(network: Network):
    network.client("bo").send("REGISTER * * secret")
    made, logged_in = network.ircd.notes.take()
    assert (made.kind, made.text) == ("account-made", "bo (test) created the account 'bo'")
    assert (logged_in.kind, logged_in.mechanism) == ("login-succeeded", "REGISTER")
    assert "secret" not in repr((made, logged_in))


def test_what_operators_do_is_noted(network: Network):
    op, _ = network.client("op"), network.client("bo")
    op.send("OPER root wrong", "OPER nobody sesame", "OPER root sesame", "KILL bo :enough", "REHASH")
    notes = network.ircd.notes.take()
    assert [(note.kind, note.nick, note.operator) for note in notes] == [
        ("operator-refused", "op", "root"),
        ("operator-refused", "op", None),
        ("operator-made", "op", "root"),
        ("client-killed", "bo", "root"),
        ("reload-asked", "op", "root"),
    ]
    assert notes[3].text == "bo (test) was killed by op"
    assert not any(secret in repr(notes) for secret in ("sesame", "wrong", "enough"))
