"""`culturectl up`: run the server and its agents in the foreground, without systemd."""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from culture.config import paths
from culture.config.address import PLAIN, Address, TcpAddress, UnixAddress, parse_endpoint
from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.up.child_process import Service
from culture.ctl.up.console import Console, how_to_connect
from culture.ctl.up.environment import child_environment, require_logins
from culture.ctl.up.foreground import Stage, run_in_foreground
from culture.ctl.up.home import (
    Home,
    load_configs,
    lock,
    open_home,
    socket_directory,
    with_listen,
    with_server_port,
)
from culture.ctl.up.listening import close_listener, listen
from culture.ctl.up.services import Services, notify_name
from culture.errors import ConfigError, Problem, UsageError
from culture.names import host_from_machine, nick_prefix
from culture.net.listen.listeners import FOR_THE_GROUP, FOR_THE_OWNER, address_of
from culture.rehearsal.environment import environment as rehearsal_environment

_LOOPBACK = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    model = parser.add_mutually_exclusive_group()
    model.add_argument(
        "--rehearse",
        action="store_true",
        help="Use a scripted model: no key, no cost (default)",
    )
    model.add_argument("--live", action="store_true", help="Use the real models, with your keys or logins")
    parser.add_argument(
        "--home",
        metavar="DIR",
        type=Path,
        help="Directory of the configuration (default: ~/.culture)",
    )
    parser.add_argument("--port", metavar="N", type=int, help="Listen on this port, not the configured one")
    parser.add_argument("-v", "--verbose", action="store_true", help="Also log the lines on the wire")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if options.port is not None and not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port} is not between 0 and 65535")
    home, written = open_home((options.home or paths.home(os.environ)).absolute())
    ircd, agents = load_configs(home)
    culturectl = "culturectl" if shutil.which("culturectl") else os.path.abspath(sys.argv[0])
    login = f"CULTURE_HOME={home.path} {culturectl} login"
    without_login = require_logins(agents.agents, os.environ, login) if options.live else []
    lock(home)
    console = Console(sys.stdout, server_name(ircd), os.getpid())
    for line in (*(f"wrote '{file}'" for file in written), *without_login):
        console.say(line)
    if paths.means_installation(os.environ):
        console.say(
            f"other verbs use the installation in '{paths.SYSTEM_CONFIG}'; "
            f"to use this home: CULTURE_HOME={home.path} culturectl status"
        )
    with ExitStack() as opened:
        up = _Up(options, home, ircd, agents, console, opened)
        status = asyncio.run(run_in_foreground(up.stages(), console, up.invite))
        # All services have ended: another Ctrl-C must not interrupt the clean-up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return status


class _Up:
    """Opens the sockets and builds the services; `opened` closes the sockets."""

    def __init__(
        self,
        options: argparse.Namespace,
        home: Home,
        ircd: IrcdConfig,
        agents: AgentsConfig,
        console: Console,
        opened: ExitStack,
    ) -> None:
        self._home = home
        self._ircd = ircd
        self._agents = agents
        self._console = console
        self._opened = opened
        self._live = options.live
        self._env = child_environment(os.environ, home.path)
        names = ["culture-rehearsal", *(f"culture-agent@{agent.nick}" for agent in agents.agents)]
        self._sockets = opened.enter_context(socket_directory(home, map(notify_name, names)))
        self._services = Services(self._sockets, dict(self._env), verbose=options.verbose)
        self._moved = options.port is not None
        where = listen_addresses(ircd, options.port, where=str(home.ircd_yaml))
        self._irc = [self._listen(address) for address in where]

    def stages(self) -> list[Stage]:
        """Return the stages: the scripted model if it is used, the server, then the agents."""
        essential = [self._server()]
        if not self._live:
            essential.insert(0, self._rehearsal())
        agents = [self._agent(agent.nick) for agent in self._agents.agents]
        return [*(Stage([each], essential=True) for each in essential), Stage(agents, essential=False)]

    def invite(self, ready: Sequence[Service]) -> None:
        """Print how to connect."""
        address = address_of(self._irc[0])
        self._console.announce(invitation(self._ircd, self._agents, address, [each.name for each in ready]))

    def _listen(self, address: Address, *, unix_mode: int = FOR_THE_GROUP) -> socket.socket:
        listener = listen(address, unix_mode)
        self._opened.callback(close_listener, listener)
        return listener

    def _rehearsal(self) -> Service:
        http = self._listen(TcpAddress(_LOOPBACK, 0))
        self._env |= rehearsal_environment(f"http://{address_of(http)}")
        self._console.say("using the scripted model: answers cost nothing")
        return self._services.rehearsal(http)

    def _server(self) -> Service:
        config = self._home.ircd_yaml
        others = [text for text in self._ircd.listen if parse_endpoint(text).carrier != PLAIN]
        bound = [*(str(address_of(each)) for each in self._irc), *others]
        if bound != list(self._ircd.listen):
            # The server opens every configured address that was not passed, so both lists must match.
            config = self._amended(config, with_listen(config.read_text(encoding="utf-8"), bound))
        return self._services.ircd(config, self._irc)

    def _agent(self, nick: str) -> Service:
        config = self._home.agents_yaml
        server = address_of(self._irc[0])
        if self._moved and isinstance(server, TcpAddress):
            config = self._amended(config, with_server_port(config.read_text(encoding="utf-8"), server.port))
        ipc = self._listen(UnixAddress(str(self._sockets / f"{nick}.sock")), unix_mode=FOR_THE_OWNER)
        return self._services.agent(nick, config, ipc, self._env)

    def _amended(self, config: Path, text: str) -> Path:
        amended = self._home.run / config.name
        amended.write_text(text, encoding="utf-8")
        return amended


def server_name(ircd: IrcdConfig) -> str:
    """Return the configured name of the server, or one derived from the machine's."""
    return ircd.name or host_from_machine(socket.gethostname())


def listen_addresses(ircd: IrcdConfig, port: int | None, *, where: str) -> list[Address]:
    """Return the plain listen addresses; `port` replaces the port of the first TCP address."""
    addresses = [each.address for text in ircd.listen if (each := parse_endpoint(text)).carrier == PLAIN]
    if not addresses:
        raise ConfigError([Problem(where, "'listen' has no plain address", 'listen: ["127.0.0.1:6667"]')])
    if port is None:
        return addresses
    first = next((each for each in addresses if isinstance(each, TcpAddress)), TcpAddress(_LOOPBACK, 0))
    return [TcpAddress(first.host, port), *(each for each in addresses if each != first)]


def invitation(ircd: IrcdConfig, agents: AgentsConfig, address: Address, ready: Sequence[str]) -> str:
    """Return how to connect and talk to the first agent that is ready."""
    present = [agent for agent in agents.agents if f"culture-agent@{agent.nick}" in ready]
    channels = [channel for agent in present for channel in agent.channels]
    nick = "you" if ircd.nick_policy == "open" else nick_prefix(server_name(ircd)) + "you"
    return how_to_connect(
        address, nick, channels[0] if channels else "#general", present[0].nick if present else None
    )
