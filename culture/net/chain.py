"""Who somebody is: the authenticators of `accounts.authenticators`, and when each of them is asked.

Two of them know a connection before it says a word. They are asked in the order of the configuration, and the
first that knows it decides (`authenticate`):

    user         the user of this machine, as the kernel tells it of a unix socket: `accounts.local_users`
    network      it comes from where nobody has to log in: `accounts.trusted`

The others wait for the client to choose one by its mechanism of SASL (`culture.ircd.offers.mechanisms`):

    certificate  EXTERNAL: the certificate that it showed by TLS: `culturectl accounts certificate`
    password     PLAIN and SCRAM-SHA-256: an account of `culturectl accounts`
    token        OAUTHBEARER: what a provider of OpenID Connect gave out: `oidc`

Whom none of them knows is a stranger, and comes in unless `accounts.required` is set.
"""

import pwd
from collections.abc import Callable
from dataclasses import dataclass

from culture.config.ircd import AccountsConfig, IrcdConfig
from culture.ircd.offers import mechanisms
from culture.net.origin import Origin
from culture.net.trust import is_trusted


@dataclass(frozen=True, slots=True)
class Known:
    """What a connection is before it says a word: somebody who need not log in."""

    account: str | None = None
    """Whom it is logged in as already, if as anybody."""


def authenticate(origin: Origin, accounts: AccountsConfig) -> Known | None:
    """Asks one after the other. None: a stranger, until it logs in."""
    asked = (_AT_THE_DOOR[name] for name in accounts.authenticators if name in _AT_THE_DOOR)
    return next((known for ask in asked if (known := ask(origin, accounts)) is not None), None)


def who_may_come_in(config: IrcdConfig) -> str:
    """In words for the journal."""
    accounts, chain = config.accounts, config.accounts.authenticators
    with_password = ", with the connection password" if config.password_credential else ""
    if not accounts.required:
        return f"everyone who can reach the server{with_password}"
    ways = mechanisms(config)
    who = [f"who logs in ({', '.join(ways)})"] if ways else []
    who += [f"the user {name}" for name in accounts.local_users if "user" in chain]
    who += [f"everyone from {place}" for place in accounts.trusted if "network" in chain]
    return ", ".join(who) + with_password


def _by_user(origin: Origin, accounts: AccountsConfig) -> Known | None:
    if origin.uid is None or not accounts.local_users:
        return None
    try:
        name = pwd.getpwuid(origin.uid).pw_name
    except KeyError:
        return None
    account = accounts.local_users.get(name)
    return Known(account) if account is not None else None


def _by_network(origin: Origin, accounts: AccountsConfig) -> Known | None:
    return Known() if is_trusted(origin, accounts.trusted) else None


_AT_THE_DOOR: dict[str, Callable[[Origin, AccountsConfig], Known | None]] = {
    "user": _by_user,
    "network": _by_network,
}
