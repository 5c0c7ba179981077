"""culture-ircd: the IRC server of this host."""

import argparse
import asyncio
import dataclasses
import os
import signal
import socket
import sys
import time
from pathlib import Path

from culture import __version__, errors
from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ircd.commands.table import COMMANDS
from culture.ircd.core import Ircd
from culture.names import host_from_machine
from culture.net.driver import Driver
from culture.net.listeners import listening
from culture.systemd.credentials import read_credential
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

PROGRAM = "culture-ircd"


def main() -> None:
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    config = _load(options.config or paths.config_file("ircd.yaml", os.environ))
    if options.check:
        return 0
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    password = read_credential(config.password_credential, os.environ) if config.password_credential else ""
    passed = [each.socket for each in passed_sockets(os.environ)]
    ircd = Ircd(
        config, COMMANDS, clock=time.time, timer=time.monotonic, version=__version__, password=password
    )
    with listening(config.listen, passed) as listeners:
        asyncio.run(_serve(ircd, listeners))
    return 0


async def _serve(ircd: Ircd, listeners: list[socket.socket]) -> None:
    notifier = Notifier()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    driver = Driver(ircd)
    await driver.serve(listeners)
    notifier.ready(driver.status)
    async with asyncio.TaskGroup() as tasks:
        interval_s = watchdog_interval_s(os.environ, os.getpid())
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


def _load(path: Path) -> IrcdConfig:
    config = loader.load(path, IrcdConfig)
    return dataclasses.replace(config, name=config.name or host_from_machine(socket.gethostname()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description="The IRC server of this host.")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="default: ~/.culture/ircd.yaml, else /etc/culture/ircd.yaml",
    )
    parser.add_argument("--check", action="store_true", help="validate the configuration and exit")
    parser.add_argument("-v", "--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    return parser


if __name__ == "__main__":
    main()
