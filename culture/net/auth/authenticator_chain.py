"""Authenticate a new connection by its origin (pre-authentication), with `accounts.authenticators`.

Some authenticators recognise a connection before it sends anything. `authenticate` calls them in the order of
the configuration, and the first that recognises the connection decides:

    user          the Unix user at the other end of a Unix socket: `accounts.local_users`
    network       a network from which nobody has to log in: `accounts.trusted`
    module:Class  a custom class of the operator: `culture.ircd.auth.preauth`

The client chooses the others by SASL mechanism (`culture.ircd.capabilities.offered.mechanisms`):

    certificate  EXTERNAL, with a TLS client certificate: `culturectl accounts certificate`
    password     PLAIN and SCRAM-SHA-256, with an account of `culturectl accounts`
    token        OAUTHBEARER, with a token of an OpenID Connect provider: `oidc`

A client that no authenticator recognises may connect unless `accounts.required` is set.
"""

import pwd
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from culture.config.ircd import AUTHENTICATORS, AccountsConfig, IrcdConfig
from culture.ircd.auth.preauth import Accepted, ConnectionAuthenticator, ConnectionInfo, Refused
from culture.ircd.capabilities.offered import mechanisms
from culture.names import is_nick
from culture.net.auth.custom_authenticators import Authenticators
from culture.net.auth.trusted_networks import is_trusted
from culture.net.listen.origin import Origin

NO_AUTHENTICATORS: Final[Authenticators] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Recognized:
    """A recognised connection, which need not log in."""

    # The account that it is logged in to, if any.
    account: str | None = None
    # The value of CULTURE_MECHANISM in the journal.
    mechanism: str = "user"


Verdict = Recognized | Refused | None


def authenticate(
    origin: Origin,
    accounts: AccountsConfig,
    custom: Authenticators = NO_AUTHENTICATORS,
    unix_user: str = "",
) -> Verdict:
    """Return the first verdict of an authenticator, or None. Custom ones may block."""
    for name in accounts.authenticators:
        verdict: Verdict = None
        if name in custom:
            verdict = _by_custom(custom[name], origin, unix_user)
        elif name in _BUILT_IN:
            verdict = _BUILT_IN[name](origin, accounts)
        if verdict is not None:
            return verdict
    return None


def describe_access(config: IrcdConfig) -> str:
    """Describe for the journal who may connect."""
    accounts, chain = config.accounts, config.accounts.authenticators
    with_password = ", with the connection password" if config.password_credential else ""
    if not accounts.required:
        return f"accounts are not required: anyone who can reach the server may connect{with_password}"
    ways = mechanisms(config)
    who = [f"clients that log in ({', '.join(ways)})"] if ways else []
    who += [f"the Unix user {name}" for name in accounts.local_users if "user" in chain]
    who += [f"anyone from {place}" for place in accounts.trusted if "network" in chain]
    who += [f"clients that '{name}' accepts" for name in chain if name not in AUTHENTICATORS]
    return f"accounts are required; these may connect: {', '.join(who)}{with_password}"


def _by_user(origin: Origin, accounts: AccountsConfig) -> Recognized | None:
    if origin.address is not None or origin.uid is None or not accounts.local_users:
        return None
    try:
        name = pwd.getpwuid(origin.uid).pw_name
    except KeyError:
        return None
    account = accounts.local_users.get(name)
    return Recognized(account) if account is not None else None


def _by_network(origin: Origin, accounts: AccountsConfig) -> Recognized | None:
    return Recognized() if is_trusted(origin, accounts.trusted) else None


def _by_custom(authenticator: ConnectionAuthenticator, origin: Origin, unix_user: str) -> Verdict:
    connection = ConnectionInfo(
        address=str(origin.address) if origin.address is not None else "",
        port=origin.port,
        is_local=origin.is_local,
        is_secure=origin.is_secure,
        fingerprint=origin.fingerprint,
        uid=origin.uid,
        unix_user=unix_user,
    )
    match answer := authenticator.authenticate(connection):
        case None | Refused():
            return answer
        case Accepted(account) if not account or is_nick(account):
            return Recognized(account or None, "authenticator")
    raise TypeError(f"not an answer of an authenticator: {answer!r}")


_BUILT_IN: dict[str, Callable[[Origin, AccountsConfig], Recognized | None]] = {
    "user": _by_user,
    "network": _by_network,
}
