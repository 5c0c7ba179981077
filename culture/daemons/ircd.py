"""The entry point of culture-ircd, the IRC server of this host."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from culture import __version__, errors
from culture.commandline import Parser, daemon_parser
from culture.config import paths
from culture.config.ircd import IrcdConfig
from culture.daemons.checking import find_problems
from culture.ircd.auth.questions import Authenticator
from culture.ircd.commands.server.skills import skill_commands
from culture.ircd.commands.table import COMMANDS
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.skills import Skills
from culture.net.auth.accounts import open_accounts
from culture.net.auth.agent_users import AgentUsers
from culture.net.auth.custom_authenticators import open_authenticators
from culture.net.driver import Driver
from culture.net.event_loop import new_event_loop
from culture.net.halt_file import HaltFile
from culture.net.links.mesh_runtime import open_links
from culture.net.listen.listeners import Listener, listening_for_irc
from culture.net.listen.tls import certificate_for
from culture.net.random_ids import random_ids
from culture.net.reload import (
    log_access_policy,
    read_config,
    read_oper_passwords,
    read_password,
    reload,
)
from culture.net.restart.session_keeper import SessionKeeper, open_keeper
from culture.net.restart.session_restore import restore, split_off_clients
from culture.net.sockets.batch_io import open_batch_io
from culture.skills.table import log_of, open_skills
from culture.store.account_names import AccountNameLookup
from culture.store.accounts import FILE as ACCOUNTS_FILE
from culture.systemd.jobs import is_stopped_for_good
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, keep_telling, tell_refusal, watchdog_interval_s
from culture.systemd.sockets import Passed, passed_sockets

log = logging.getLogger(__name__)

PROGRAM = "culture-ircd"
# Allocations before a garbage collection. There are hardly any cycles, and with the default threshold
# collections took a fifth of the time with 500 pairs of clients, 256 messages in flight each, and history.
GC_THRESHOLD = 50_000


def main() -> None:
    """Run culture-ircd and exit with its status."""
    sys.exit(errors.run(PROGRAM, lambda: tell_refusal(_main, os.environ)))


def _main() -> int:
    options = _parser().parse_args()
    path = options.config or paths.config_file("ircd.yaml", os.environ)
    config = read_config(path)
    if options.check:
        return _print_errors(find_problems(config, path, os.environ))
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
    # The operator who asked for the reload, or None for SIGHUP.
    reload_requests = asyncio.Queue[Session | None]()
    notifier, interval_s = Notifier(os.environ), watchdog_interval_s(os.environ, os.getpid())
    certificate = certificate_for(config.tls, listeners)
    own = open_authenticators(config)
    agents = AgentUsers(config.name, agents_file=path.with_name("agents.yaml"))
    ircd = Ircd(
        config,
        {**COMMANDS, **skill_commands(skills)},
        clock=time.time,
        timer=time.monotonic,
        new_id=random_ids(),
        new_session_id=random_ids(),
        version=__version__,
        password=read_password(config, os.environ),
        oper_passwords=read_oper_passwords(config, os.environ),
        on_rehash=reload_requests.put_nowait,
        skills=skills,
        agents=agents,
        account_names=AccountNameLookup(state_dir / ACCOUNTS_FILE),
        halts=HaltFile(state_dir),
    )
    driver = Driver(ircd, authenticator, open_keeper(ircd, os.environ), open_batch_io(), agents, own)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.put_nowait, number)
    loop.add_signal_handler(signal.SIGHUP, reload_requests.put_nowait, None)
    for each in listeners:
        driver.serve([each.socket], each.carrier, certificate)
    log_access_policy(driver)
    restore(driver, clients)
    linking = open_links(driver, log_of(skills), state_dir, os.environ)
    # Objects that live as long as the process need not be scanned by each collection.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    notifier.ready(driver.status)

    def reload_now(operator: Session | None) -> None:
        notifier.reloading()
        try:
            reload(driver, path, certificate, os.environ, operator)
        except Exception:
            # A broken file must not disconnect clients.
            log.exception("cannot reload '%s'; keeping the old configuration", path)
        notifier.ready(driver.status)

    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(driver.keep_time()),
            # The loop writes history itself, so it does not feed the watchdog while a write hangs.
            tasks.create_task(keep_alive(notifier, interval_s, skills.is_alive)),
            tasks.create_task(keep_telling(notifier, lambda: driver.status)),
            tasks.create_task(_for_each(reload_requests, reload_now)),
        ]
        keeper = await _keeper_for_restart(driver, await stop.get())
        notifier.stopping("disconnecting clients" if keeper is None else "handing over to the next process")
        for task in running:
            task.cancel()
    await (driver.stop() if keeper is None else driver.leave(keeper))
    if linking is not None:
        linking.stop()


def _print_errors(problems: Sequence[errors.CultureError]) -> int:
    for error in problems:
        sys.stderr.write(errors.describe(PROGRAM, error))
    return problems[0].exit_status if problems else 0


def _open_skills(config: IrcdConfig, state_dir: Path) -> Skills:
    """Open the skills with SIGABRT, the signal of the watchdog, blocked in their threads.

    The thread of the loop must handle it: otherwise the loop would accept clients while another thread dies.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})
    try:
        return open_skills(config, state_dir, log.warning, _report)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _keeper_for_restart(driver: Driver, number: int) -> SessionKeeper | None:
    """Return the session keeper if the service is being restarted, or None if it stops for good.

    SIGTERM can mean both, so systemd is queried. SIGINT always means the end.
    """
    unit = os.environ.get("CULTURE_UNIT")
    if number == signal.SIGINT or driver.keeper is None:
        return None
    is_for_good = await is_stopped_for_good(unit) if unit else False
    if is_for_good is None:
        log.warning("systemd does not say whether '%s' is being restarted; assuming that it is", unit)
    return None if is_for_good else driver.keeper


async def _for_each(requests: asyncio.Queue[Session | None], act: Callable[[Session | None], None]) -> None:
    while True:
        act(await requests.get())


def _report(skill: str, error: Exception) -> None:
    log.error("skill '%s' failed", skill, exc_info=error)


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "Run the IRC server of this host.")
    where = "Configuration (default: ~/.culture/ircd.yaml if it exists, else /etc/culture/ircd.yaml)"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    parser.add_argument("--check", action="store_true", help="Check the configuration and exit")
    return parser


if __name__ == "__main__":
    main()
