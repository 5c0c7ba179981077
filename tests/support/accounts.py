"""Accounts that cost little to check, and logging in to one."""

import base64
from pathlib import Path

from culture.store.accounts import Accounts
from culture.store.passwords import Cost
from support.network import Client

PASSWORD = "sesame"


def accounts_in(directory: Path, *names: str) -> Accounts:
    """Each with the same password."""
    accounts = Accounts(directory / "accounts.db", cost=Cost(scrypt_n=16, scram_iterations=4096))
    for name in names:
        accounts.add(name, PASSWORD)
    return accounts


def log_in(client: Client, name: str, password: str = PASSWORD) -> None:
    secret = base64.b64encode(f"\0{name}\0{password}".encode()).decode()
    client.send("CAP REQ :sasl", "AUTHENTICATE PLAIN", f"AUTHENTICATE {secret}")


def logged_in(client: Client, name: str) -> Client:
    """The client, which has read what it was told of it."""
    log_in(client, name)
    assert client.session.user.account == name
    client.lines()
    return client
