"""`culturectl accounts`: who may log in to the server, before and while it runs."""

import argparse
import getpass
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.errors import NotAllowedError, UsageError
from culture.store.accounts import FILE, Accounts
from culture.systemd.journal import tell_journal

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=_ACTIONS, metavar="|".join(_ACTIONS))
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the account; not for list")
    parser.add_argument(
        "fingerprint", nargs="?", metavar="FINGERPRINT", help="for certificate: SHA-256 in hexadecimal"
    )
    parser.add_argument(
        "--password-stdin", action="store_true", help="read the password from standard input, one line"
    )
    where = (
        "the server's configuration (default: ~/.culture/ircd.yaml if it exists, else /etc/culture/ircd.yaml)"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)


def run(options: argparse.Namespace) -> int:
    if (options.name is None) is not (options.action == "list"):
        wrong = "takes no name" if options.name else "needs a name"
        raise UsageError(f"accounts {options.action} {wrong}", hint="culturectl accounts --help")
    if (options.fingerprint is None) is (options.action == "certificate"):
        wrong = "takes no fingerprint" if options.fingerprint else "needs a fingerprint"
        raise UsageError(f"accounts {options.action} {wrong}", hint="culturectl accounts --help")
    config_file = (options.config or paths.config_file("ircd.yaml", os.environ)).absolute()
    config = loader.load(config_file, IrcdConfig)
    try:
        accounts = Accounts(paths.server_state_dir(config.state_dir, config_file, os.environ) / FILE)
    except NotAllowedError as error:
        raise NotAllowedError(str(error), hint="sudo !!") from None
    _ACTIONS[options.action](accounts, options)
    return 0


def _add(accounts: Accounts, options: argparse.Namespace) -> None:
    accounts.add(options.name, _read_password(options))
    _tell("account-made", f"made the account '{options.name}'", options.name)


def _list(accounts: Accounts, options: argparse.Namespace) -> None:
    for account in accounts.list():
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(account.created_at))
        print(f"{account.name}\t{made}")


def _password(accounts: Accounts, options: argparse.Namespace) -> None:
    accounts.set_password(options.name, _read_password(options))


def _certificate(accounts: Accounts, options: argparse.Namespace) -> None:
    # openssl x509 -fingerprint writes it with colons.
    fingerprint = options.fingerprint.replace(":", "").lower()
    if not _FINGERPRINT.fullmatch(fingerprint):
        hint = "openssl x509 -in FILE -noout -fingerprint -sha256"
        raise UsageError(f"'{options.fingerprint}' is not a SHA-256 fingerprint", hint=hint)
    accounts.add_certificate(options.name, fingerprint)


def _remove(accounts: Accounts, options: argparse.Namespace) -> None:
    accounts.remove(options.name)
    _tell("account-removed", f"removed the account '{options.name}'", options.name)


_ACTIONS: dict[str, Callable[[Accounts, argparse.Namespace], None]] = {
    "add": _add,
    "certificate": _certificate,
    "list": _list,
    "password": _password,
    "remove": _remove,
}


def _tell(kind: str, text: str, account: str) -> None:
    """The journal knows by itself which user did it."""
    tell_journal("culturectl", kind, text, account=account)


def _read_password(options: argparse.Namespace) -> str:
    """Never from the command line, where everybody on the machine can read it."""
    try:
        if options.password_stdin:
            return sys.stdin.buffer.readline().decode().rstrip("\r\n")
        return _asked_twice(options.name)
    except UnicodeDecodeError:
        raise UsageError("the password is not UTF-8") from None
    except EOFError:
        # Ctrl-D ends no line.
        print(file=sys.stderr)
        raise UsageError("no password was typed") from None


def _asked_twice(name: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for the password on", hint="add --password-stdin")
    password = getpass.getpass(f"password for {name}: ")
    if getpass.getpass("once more: ") != password:
        raise UsageError("these were two different passwords")
    return password
