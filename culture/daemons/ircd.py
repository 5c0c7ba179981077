"""culture-ircd: the IRC server of this host."""

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from culture import __version__, errors
from culture.commandline import Parser, daemon_parser
from culture.config import paths
from culture.config.ircd import IrcdConfig
from culture.daemons.checking import what_is_wrong
from culture.ircd.auth import Authenticator
from culture.ircd.commands.skills import skill_commands
from culture.ircd.commands.table import COMMANDS
from culture.ircd.core import Ircd
from culture.ircd.ids import new_ids
from culture.ircd.session import Session
from culture.ircd.skills import Skills
from culture.net.authenticator import open_accounts
from culture.net.bulk import bulk_if_possible
from culture.net.driver import Driver
from culture.net.keeping import Keeper, open_keeper
from culture.net.linking import open_links
from culture.net.listeners import Listener, listening_for_irc
from culture.net.loop import new_event_loop
from culture.net.restoring import restore, split_off_clients
from culture.net.settings import read_config, read_oper_passwords, read_password, reload, tell_who_may_come_in
from culture.net.tls import certificate_for
from culture.skills.table import log_of, open_skills
from culture.systemd.jobs import is_stopped_for_good
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, keep_telling, watchdog_interval_s
from culture.systemd.sockets import Passed, passed_sockets

log = logging.getLogger(__name__)

PROGRAM = "culture-ircd"
GARBAGE_AFTER = 50_000
"""New objects before the collector looks for cycles among them, of which there are hardly any. What one turn
holds is no garbage: with 256 messages on the way in each of 500 pairs, and history, that took a fifth of the
time."""


def main() -> None:
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    path = options.config or paths.config_file("ircd.yaml", os.environ)
    config = read_config(path)
    if options.check:
        return _told(what_is_wrong(config, path, os.environ))
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    state_dir = paths.make_state_dir(config.state_dir, os.environ)
    authenticator = open_accounts(state_dir, config.oidc)
    clients, others = split_off_clients(passed_sockets(os.environ))
    with (
        contextlib.closing(_open_skills(config, state_dir)) as skills,
        listening_for_irc(config.listen, others) as listeners,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        runner.run(_serve(path, config, state_dir, authenticator, skills, listeners, clients))
    return 0


async def _serve(
    path: Path,
    config: IrcdConfig,
    state_dir: Path,
    authenticator: Authenticator,
    skills: Skills,
    listeners: list[Listener],
    clients: list[Passed],
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Queue[int]()
    # By whom; None is a signal.
    reload_asked = asyncio.Queue[Session | None]()
    notifier, interval_s = Notifier(os.environ), watchdog_interval_s(os.environ, os.getpid())
    certificate = certificate_for(config.tls, listeners)
    ircd = Ircd(
        config,
        {**COMMANDS, **skill_commands(skills)},
        clock=time.time,
        timer=time.monotonic,
        new_id=new_ids(secrets.token_hex(5)),
        version=__version__,
        password=read_password(config, os.environ),
        oper_passwords=read_oper_passwords(config, os.environ),
        on_rehash=reload_asked.put_nowait,
        skills=skills,
    )
    driver = Driver(ircd, authenticator, open_keeper(ircd, os.environ), bulk_if_possible())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.put_nowait, number)
    loop.add_signal_handler(signal.SIGHUP, reload_asked.put_nowait, None)
    for each in listeners:
        driver.serve([each.socket], each.carrier, certificate)
    tell_who_may_come_in(driver)
    restore(driver, clients)
    linking = open_links(driver, log_of(skills), state_dir, os.environ)
    # What is there for good need not be looked through again and again while clients wait.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    notifier.ready(driver.status)

    def reload_now(operator: Session | None) -> None:
        notifier.reloading()
        try:
            reload(driver, path, certificate, os.environ, operator)
        except Exception:
            # Whatever is wrong with the file, those who are connected stay so.
            log.exception("cannot reload '%s': the server goes on", path)
        notifier.ready(driver.status)

    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(driver.keep_time()),
            # What is said is written down in the loop, which feeds nobody while a write hangs.
            tasks.create_task(keep_alive(notifier, interval_s, skills.is_alive)),
            tasks.create_task(keep_telling(notifier, lambda: driver.status)),
            tasks.create_task(_whenever(reload_asked, reload_now)),
        ]
        keeper = await _who_goes_on(driver, await stop.get())
        notifier.stopping("saying goodbye" if keeper is None else "handing over to the next process")
        for task in running:
            task.cancel()
    await (driver.stop() if keeper is None else driver.leave(keeper))
    if linking is not None:
        linking.stop()


def _told(wrong: Sequence[errors.CultureError]) -> int:
    for error in wrong:
        sys.stderr.write(errors.describe(PROGRAM, error))
    return wrong[0].exit_status if wrong else 0


def _open_skills(config: IrcdConfig, state_dir: Path) -> Skills:
    """Their threads leave the watchdog's signal to that of the loop, also when it wakes a stopped process.

    While another thread died of it, the loop would take connections that nobody answers.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})
    try:
        return open_skills(config, state_dir, log.warning, _report)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _who_goes_on(driver: Driver, number: int) -> Keeper | None:
    """SIGTERM alone does not tell a restart from the end; an interrupt from the keyboard is the end."""
    unit = os.environ.get("CULTURE_UNIT")
    if number == signal.SIGINT or driver.keeper is None:
        return None
    is_for_good = await is_stopped_for_good(unit) if unit else False
    if is_for_good is None:
        log.warning("systemd does not say whether '%s' is restarted: going on as if it were", unit)
    return None if is_for_good else driver.keeper


async def _whenever(asked: asyncio.Queue[Session | None], act: Callable[[Session | None], None]) -> None:
    while True:
        act(await asked.get())


def _report(skill: str, error: Exception) -> None:
    log.error("skill '%s' failed", skill, exc_info=error)


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "The IRC server of this host.")
    where = "default: ~/.culture/ircd.yaml if it exists, else /etc/culture/ircd.yaml"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    parser.add_argument(
        "--check", action="store_true", help="say what is wrong with the configuration and exit"
    )
    return parser


if __name__ == "__main__":
    main()
