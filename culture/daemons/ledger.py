"""The entry point of culture-ledger, which keeps the costs and budgets of all agents of this host."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path

from culture import errors
from culture.agent.ledger.limits import make_limits
from culture.agent.ledger.live_config import LiveConfig
from culture.agent.ledger.service import LedgerService
from culture.agent.ledger.wire import MAX_LINE_BYTES
from culture.commandline import Parser, daemon_parser
from culture.config import paths
from culture.net.listen.listeners import listening
from culture.store.ledger.file import FILE, LedgerFile
from culture.systemd.journal import fields, log_to_journal_or_terminal
from culture.systemd.main_process import main_pid
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

PROGRAM = "culture-ledger"
# Members of the socket's group may connect; who may do what is decided for each of them.
_FOR_THE_GROUP = 0o660
log = logging.getLogger(__name__)


def main() -> None:
    """Run culture-ledger and exit with its status."""
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    config = LiveConfig(options.config or paths.config_file("agents.yaml", os.environ))
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    ledger = LedgerFile(
        paths.make_state_dir("", os.environ) / FILE,
        lambda nick: make_limits(config())(nick),
        wall_clock=time.time,
        warn_at=config().budgets.warn_at,
    )
    passed = [each.socket for each in passed_sockets(os.environ)]
    own = [] if passed else [f"unix:{paths.ledger_socket(os.environ)}"]
    try:
        with listening(own, passed, unix_mode=_FOR_THE_GROUP) as listeners:
            asyncio.run(_serve(LedgerService(ledger, config, _main_pid_of), listeners[0]))
    finally:
        ledger.close()
    return 0


async def _main_pid_of(nick: str) -> int:
    return await main_pid(f"culture-agent@{nick}.service")


async def _serve(service: LedgerService, listener: socket.socket) -> None:
    loop, stop, notifier = asyncio.get_running_loop(), asyncio.Event(), Notifier(os.environ)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await asyncio.start_unix_server(service.connected, sock=listener, limit=MAX_LINE_BYTES)
    log.info("listening on %s", listener.getsockname(), extra=fields("listening"))
    notifier.ready("keeping the ledger of this host")
    interval_s = watchdog_interval_s(os.environ, os.getpid())
    async with asyncio.TaskGroup() as tasks:
        watchdog = tasks.create_task(keep_alive(notifier, interval_s, lambda: True))
        await stop.wait()
        notifier.stopping("closing connections")
        watchdog.cancel()
        server.close()
        await service.close()


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "Keep the costs and budgets of all agents of this host.")
    where = "Configuration (default: ~/.culture/agents.yaml if it exists, else /etc/culture/agents.yaml)"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    return parser


if __name__ == "__main__":
    main()
