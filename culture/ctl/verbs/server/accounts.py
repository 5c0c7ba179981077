"""`culturectl accounts`: add, change, list or remove accounts, also while the server runs."""

import argparse
import getpass
import os
import re
import sys
import time
from collections.abc import Callable

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.options import add_ircd_config
from culture.errors import NotAllowedError, UsageError
from culture.store.accounts import FILE, Accounts
from culture.systemd.journal import tell_journal

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("action", choices=_ACTIONS, metavar="|".join(_ACTIONS))
    parser.add_argument("name", nargs="?", metavar="NAME", help="Name of the account; not for list")
    parser.add_argument(
        "fingerprint", nargs="?", metavar="FINGERPRINT", help="For certificate: SHA-256 in hexadecimal"
    )
    parser.add_argument(
        "--password-stdin", action="store_true", help="Read the password from standard input, one line"
    )
    add_ircd_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
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
    _log("account-made", f"added the account '{options.name}'", options.name)


def _list(accounts: Accounts, options: argparse.Namespace) -> None:
    for account in accounts.list():
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(account.created_at))
        output.show([f"{account.name}\t{made}"])


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
    _log("account-removed", f"removed the account '{options.name}'", options.name)


_ACTIONS: dict[str, Callable[[Accounts, argparse.Namespace], None]] = {
    "add": _add,
    "certificate": _certificate,
    "list": _list,
    "password": _password,
    "remove": _remove,
}


def _log(kind: str, text: str, account: str) -> None:
    """Write to the journal, which records by itself which user did it."""
    tell_journal("culturectl", kind, text, account=account)


def _read_password(options: argparse.Namespace) -> str:
    """Read a password, never from the command line, which every local user can see."""
    try:
        if options.password_stdin:
            return sys.stdin.buffer.readline().decode().rstrip("\r\n")
        return _prompt_twice(options.name)
    except UnicodeDecodeError:
        raise UsageError("the password is not UTF-8") from None
    except EOFError:
        # Ctrl-D leaves the cursor behind the prompt.
        output.warn("")
        raise UsageError("no password was entered") from None


def _prompt_twice(name: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError("cannot prompt for a password without a terminal", hint="add --password-stdin")
    password = getpass.getpass(f"password for {name}: ")
    if getpass.getpass("repeat password: ") != password:
        raise UsageError("the passwords differ")
    return password
