"""Load the operator's custom authenticator classes, named in `accounts.authenticators`."""

import importlib
from collections.abc import Mapping

from culture.config.ircd import AUTHENTICATORS, IrcdConfig
from culture.errors import ConfigError, Problem
from culture.ircd.auth.preauth import ConnectionAuthenticator

Authenticators = Mapping[str, ConnectionAuthenticator]


def open_authenticators(config: IrcdConfig) -> Authenticators:
    """Return an instance of each custom authenticator, by name.

    Raises ConfigError if one cannot be imported, is not an authenticator, or cannot be created.
    """
    own = (name for name in config.accounts.authenticators if name not in AUTHENTICATORS)
    return {name: _make(name, config) for name in own}


def find_authenticator(name: str) -> type[ConnectionAuthenticator]:
    """Import an authenticator class. Raises ConfigError if it is missing or not an authenticator."""
    module, _, wanted = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), wanted)
    except Exception as error:
        # A foreign module may raise anything; the command in the hint shows where.
        hint = f"python3 -c 'from {module} import {wanted}'"
        raise _problem(f"cannot import '{name}': {error}", hint) from None
    if not (isinstance(found, type) and issubclass(found, ConnectionAuthenticator)):
        hint = f"derive {wanted} from culture.ircd.auth.preauth.ConnectionAuthenticator"
        raise _problem(f"'{name}' is not an authenticator", hint)
    return found


def _make(name: str, config: IrcdConfig) -> ConnectionAuthenticator:
    found = find_authenticator(name)
    try:
        return found(config)
    except Exception as error:
        raise _problem(f"'{name}' does not start: {error}", None) from error


def _problem(what: str, hint: str | None) -> ConfigError:
    return ConfigError([Problem("accounts.authenticators", what, hint)])
