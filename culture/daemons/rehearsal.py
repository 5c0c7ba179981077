"""The entry point of culture-rehearsal, a scripted model on the loopback interface."""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from culture import errors
from culture.commandline import Parser, daemon_parser
from culture.config.address import TcpAddress
from culture.errors import CultureError
from culture.net.listen.listeners import open_listener
from culture.rehearsal.script import DEFAULT, Script, load_script
from culture.rehearsal.server import ReceivedRequest, RehearsalServer
from culture.systemd.journal import fields, log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

PROGRAM = "culture-rehearsal"
log = logging.getLogger(__name__)


def main() -> None:
    """Run culture-rehearsal and exit with its status."""
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    script = load_script(options.script)
    if options.check:
        return 0
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    passed = [each.socket for each in passed_sockets(os.environ)]
    listeners = passed or [open_listener(TcpAddress(options.host, options.port))]
    asyncio.run(_serve(options.script, script, listeners))
    return 0


async def _serve(path: Path, script: Script, listeners: list[socket.socket]) -> None:
    loop, stop, notifier = asyncio.get_running_loop(), asyncio.Event(), Notifier(os.environ)
    async with RehearsalServer(script, on_asked=_tell) as server, asyncio.TaskGroup() as tasks:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, _reload, server, path, notifier)
        await server.listen(listeners)
        for url in map(_url, listeners):
            log.info("listening on %s", url, extra=fields("listening"))
        notifier.ready(_status(path))
        interval_s = watchdog_interval_s(os.environ, os.getpid())
        watchdog = tasks.create_task(keep_alive(notifier, interval_s, lambda: True))
        await stop.wait()
        notifier.stopping("closing connections")
        watchdog.cancel()


def _reload(server: RehearsalServer, path: Path, notifier: Notifier) -> None:
    notifier.reloading()
    try:
        server.play(load_script(path))
        log.info("reloaded '%s'", path)
    except CultureError as error:
        log.warning("keeping the old script: %s", error)
    notifier.ready(_status(path))


def _tell(asked: ReceivedRequest) -> None:
    if asked.is_aside:
        log.debug("answered what the CLI asked on the side")
    elif asked.answer.rule is None:
        log.warning("no rule of the script matches; the reply says so")
    else:
        log.info("rule '%s' answers", asked.answer.rule)


def _status(path: Path) -> str:
    return "playing the default script" if path == DEFAULT else f"playing '{path}'"


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{TcpAddress(host, port)}"


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port, 0 to 65535")
    return int(text)


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "Serve a scripted model, which needs no key and costs nothing.")
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        default=DEFAULT,
        help="Script to play (default: answer on IRC)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="Address to listen on (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8645,
        metavar="N",
        help="Port, or 0 for a free one (default: 8645)",
    )
    parser.add_argument("--check", action="store_true", help="Check the script and exit")
    return parser


if __name__ == "__main__":
    main()
