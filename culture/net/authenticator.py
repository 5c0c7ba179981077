"""Answers the core's questions about accounts from the store."""

import secrets
from pathlib import Path

from culture.config.ircd import OidcConfig
from culture.ircd.auth import Creation, ScramKeys
from culture.net.tokens import Tokens
from culture.store.accounts import FILE, AccountExistsError, Accounts, check_account_name, check_password


def open_accounts(state_dir: Path, oidc: OidcConfig) -> "StoredAccounts":
    """What the configuration has to answer with."""
    return StoredAccounts(Accounts(state_dir / FILE), Tokens(oidc) if oidc.is_used else None)


class StoredAccounts:
    """An `Authenticator`. Its methods take long, and run in any thread."""

    def __init__(self, accounts: Accounts, tokens: Tokens | None = None) -> None:
        self._accounts = accounts
        self._tokens = tokens

    def check_password(self, name: str, password: str) -> str | None:
        return self._accounts.verify(name, password)

    def scram_keys(self, name: str) -> ScramKeys:
        account, secret = self._accounts.scram(name)
        return ScramKeys(
            account,
            secret.salt,
            secret.iterations,
            secret.stored_key,
            secret.server_key,
            nonce=secrets.token_urlsafe(18),
        )

    def account_of_certificate(self, fingerprint: str) -> str | None:
        return self._accounts.of_certificate(fingerprint)

    def account_of_token(self, token: str) -> str | None:
        return self._tokens.account_of(token) if self._tokens is not None else None

    def find_account(self, name: str) -> str | None:
        return self._accounts.find(name)

    def create_account(self, name: str, password: str) -> Creation:
        if check_account_name(name):
            return Creation.BAD_NAME
        if check_password(password):
            return Creation.BAD_PASSWORD
        try:
            self._accounts.add(name, password)
        except AccountExistsError:
            return Creation.EXISTS
        return Creation.DONE
