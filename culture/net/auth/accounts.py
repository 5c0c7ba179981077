"""Answer the core's questions about accounts from the account store and OpenID Connect tokens."""

import secrets
from pathlib import Path

from culture.config.ircd import OidcConfig
from culture.ircd.auth.questions import Creation, ScramKeys
from culture.net.auth.oidc_tokens import TokenVerifier
from culture.store.accounts import FILE, AccountExistsError, Accounts, check_account_name, check_password


def open_accounts(state_dir: Path, oidc: OidcConfig) -> "StoredAccounts":
    """Open the account store of this server, with token checking if OIDC is configured."""
    return StoredAccounts(Accounts(state_dir / FILE), TokenVerifier(oidc) if oidc.is_used else None)


class StoredAccounts:
    """An `Authenticator` backed by the account store. Its methods block and may run in any thread."""

    def __init__(self, accounts: Accounts, tokens: TokenVerifier | None = None) -> None:
        self._accounts = accounts
        self._tokens = tokens

    def check_password(self, name: str, password: str) -> str | None:
        """Return the account if the password is right, else None."""
        return self._accounts.verify(name, password)

    def scram_keys(self, name: str) -> ScramKeys:
        """Return the SCRAM keys of an account, with a fresh nonce."""
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
        """Return the account that this client certificate belongs to."""
        return self._accounts.of_certificate(fingerprint)

    def account_of_token(self, token: str) -> str | None:
        """Return the account that a valid token names."""
        return self._tokens.account_of(token) if self._tokens is not None else None

    def find_account(self, name: str) -> str | None:
        """Return the account of this name as it is spelled in the store."""
        return self._accounts.find(name)

    def create_account(self, name: str, password: str) -> Creation:
        """Create an account, and return whether that succeeded."""
        if check_account_name(name):
            return Creation.BAD_NAME
        if check_password(password):
            return Creation.BAD_PASSWORD
        try:
            self._accounts.add(name, password)
        except AccountExistsError:
            return Creation.EXISTS
        return Creation.DONE
