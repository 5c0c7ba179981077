"""culture-ircd: the IRC server of this host."""

import asyncio
import dataclasses
import functools
import logging
import os
import secrets
import signal
import socket
import sys
import time
from pathlib import Path

from culture import __version__, errors
from culture.commandline import Parser, daemon_parser
from culture.config import loader, paths
from culture.config.ircd import IrcdConfig, Tls
from culture.ircd.auth import Authenticator
from culture.ircd.commands.negotiation import announce_offers
from culture.ircd.commands.table import COMMANDS
from culture.ircd.core import Ircd
from culture.ircd.ids import new_ids
from culture.names import host_from_machine
from culture.net.authenticator import StoredAccounts
from culture.net.driver import Driver
from culture.net.listeners import Listener, listening_for_irc
from culture.net.tls import Certificate
from culture.net.tokens import Tokens
from culture.store.accounts import FILE as ACCOUNTS
from culture.store.accounts import Accounts
from culture.systemd.credentials import read_credential
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

log = logging.getLogger(__name__)

PROGRAM = "culture-ircd"
NEEDS_RESTART = ("name", "listen", "password_credential", "state_dir", "oidc")
"""The keys that a reload leaves as they are."""


def main() -> None:
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    path = options.config or paths.config_file("ircd.yaml", os.environ)
    config = _load(path)
    if options.check:
        return 0
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    password = read_credential(config.password_credential, os.environ) if config.password_credential else ""
    _make_state_dir(paths.state_dir(config.state_dir, os.environ))
    passed = passed_sockets(os.environ)
    ircd = Ircd(
        config,
        COMMANDS,
        clock=time.time,
        timer=time.monotonic,
        new_id=new_ids(secrets.token_hex(5)),
        version=__version__,
        password=password,
    )
    ircd.oper_passwords = _oper_passwords(config)
    accounts = Accounts(paths.state_dir(config.state_dir, os.environ) / ACCOUNTS)
    authenticator = StoredAccounts(accounts, Tokens(config.oidc) if config.oidc.keys_file else None)
    with listening_for_irc(config.listen, passed) as listeners:
        certificate = _certificate(config, listeners)
        asyncio.run(_serve(ircd, authenticator, path, listeners, certificate))
    return 0


def _certificate(config: IrcdConfig, listeners: list[Listener]) -> Certificate | None:
    if config.tls.certificate:
        return Certificate(config.tls)
    if any(each.carrier.is_tls for each in listeners):
        problem = "a socket for TLS was passed, and 'certificate' is empty"
        raise errors.ConfigError([errors.Problem("tls", problem)])
    return None


async def _serve(
    ircd: Ircd,
    authenticator: Authenticator,
    path: Path,
    listeners: list[Listener],
    certificate: Certificate | None,
) -> None:
    loop, stop, notifier = asyncio.get_running_loop(), asyncio.Event(), Notifier(os.environ)
    driver = Driver(ircd, authenticator)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    reload = functools.partial(_reload, driver, path, notifier, certificate)
    loop.add_signal_handler(signal.SIGHUP, reload)
    ircd.on_rehash = functools.partial(loop.call_soon, reload)
    for each in listeners:
        await driver.serve([each.socket], each.carrier, certificate)
    notifier.ready(driver.status)
    interval_s = watchdog_interval_s(os.environ, os.getpid())
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(driver.keep_time()),
            tasks.create_task(keep_alive(notifier, interval_s, lambda: True)),
            tasks.create_task(_tell_status(notifier, driver)),
        ]
        await stop.wait()
        notifier.stopping("saying goodbye")
        for task in running:
            task.cancel()
    await driver.stop()


async def _tell_status(notifier: Notifier, driver: Driver) -> None:
    while True:
        notifier.status(driver.status)
        await asyncio.sleep(1)


def _reload(driver: Driver, path: Path, notifier: Notifier, certificate: Certificate | None) -> None:
    notifier.reloading()
    old = driver.ircd.config
    try:
        new = _load(path)
        oper_passwords = _oper_passwords(new)
    except errors.CultureError as error:
        log.warning("the configuration stays as it was: %s", error)
    else:
        kept = {key: getattr(old, key) for key in NEEDS_RESTART}
        for key in NEEDS_RESTART:
            if getattr(new, key) != kept[key]:
                log.warning("'%s' stays as it was until a restart", key)
        if old.tls.certificate and not new.tls.certificate:
            log.warning("'tls' stays as it was until a restart")
            kept["tls"] = old.tls
        new = dataclasses.replace(new, **kept)
        driver.ircd.reconfigure(new)
        driver.ircd.oper_passwords = oper_passwords
        announce_offers(driver.ircd, old)
        driver.wake()
        _reload_certificate(certificate, new.tls)
        log.info("reloaded '%s'", path)
    notifier.ready(driver.status)


def _reload_certificate(certificate: Certificate | None, tls: Tls) -> None:
    if certificate is None:
        if tls.certificate:
            log.warning("'tls' is not used until a restart")
        return
    try:
        certificate.reload(tls)
    except errors.CultureError as error:
        log.warning("the certificate stays as it was: %s", error)


def _oper_passwords(config: IrcdConfig) -> dict[str, str]:
    return {
        oper.name: read_credential(oper.password_credential, os.environ)
        for oper in config.opers
        if oper.password_credential
    }


def _make_state_dir(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "set state_dir in ircd.yaml to a directory that can be written"
        raise errors.NotAllowedError(f"cannot make '{path}': {error.strerror}", hint=hint) from None


def _load(path: Path) -> IrcdConfig:
    config = loader.load(path, IrcdConfig)
    return dataclasses.replace(config, name=config.name or host_from_machine(socket.gethostname()))


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "The IRC server of this host.")
    where = "default: ~/.culture/ircd.yaml if it exists, else /etc/culture/ircd.yaml"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    parser.add_argument("--check", action="store_true", help="validate the configuration and exit")
    return parser


if __name__ == "__main__":
    main()
