"""The profiles skill: what an account read and published is there after a restart."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.accounts import accounts_in, logged_in
from support.network import Client, Network

from culture.ircd.skills import Skills
from culture.net.auth.accounts import StoredAccounts
from culture.skills.profiles import ProfilesSkill
from culture.store.accounts import Accounts

CAPS = "sasl draft/metadata-3 draft/read-marker batch"
READ = "timestamp=1970-01-10T05:43:39.120Z"
EARLIER = "timestamp=1970-01-09T05:43:39.120Z"


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return accounts_in(tmp_path, "ori")


@contextlib.contextmanager
def started(accounts: Accounts, directory: Path) -> Iterator[Network]:
    network = Network(
        authenticator=StoredAccounts(accounts), skills=Skills([ProfilesSkill(directory / "profiles")])
    )
    yield network
    network.flush()
    network.ircd.skills.close()


def log_in(network: Network, nick: str) -> Client:
    return logged_in(network.client(nick, "#ops", caps=CAPS), "ori")


def test_an_account_has_what_it_read_and_published_after_a_restart(accounts: Accounts, tmp_path: Path):
    with started(accounts, tmp_path) as network:
        ori = log_in(network, "spark-first")
        ori.send(f"MARKREAD #Ops {READ}", "METADATA * SET url :https://example.org", "METADATA * SET a :b")
        ori.send("METADATA * SET a")
    with started(accounts, tmp_path) as network:
        again = log_in(network, "spark-again")
        again.send("MARKREAD #ops", "METADATA * GET url a")
        told = again.lines()
    assert f":spark MARKREAD #ops {READ}" in told
    assert any(line.endswith("url * :https://example.org") for line in told)
    assert any(" 766 " in line and " a " in line for line in told)


def test_a_marker_goes_with_a_channel_that_is_renamed(accounts: Accounts, tmp_path: Path):
    with started(accounts, tmp_path) as network:
        ori = log_in(network, "spark-first")
        ori.send(f"MARKREAD #dev {EARLIER}", f"MARKREAD #Ops {READ}", "RENAME #ops #Dev", "RENAME #dev #new")
        ori.send("RENAME #new #ops")
    with started(accounts, tmp_path) as network:
        again = log_in(network, "spark-again")
        again.send("MARKREAD #dev", "MARKREAD #new")
        told = again.lines()
    assert f":spark MARKREAD #dev {READ}" in told
    assert f":spark MARKREAD #new {READ}" in told


def test_of_who_is_not_logged_in_nothing_is_kept(accounts: Accounts, tmp_path: Path):
    with started(accounts, tmp_path) as network:
        bo = network.client("spark-bo", "#ops", caps=CAPS)
        bo.send(f"MARKREAD #ops {READ}", "METADATA * SET url :https://example.org")
    with started(accounts, tmp_path) as network:
        state = network.ircd.state
        assert (state.markers.of_accounts, state.metadata.of_accounts) == ({}, {})
