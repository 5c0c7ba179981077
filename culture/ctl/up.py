"""`culturectl up`: the server and its agents in the foreground, for a first try without systemd."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from culture.config import paths
from culture.config.address import PLAIN, Address, TcpAddress, UnixAddress, parse_endpoint
from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.children import Service
from culture.ctl.environment import child_environment, require_login
from culture.ctl.foreground import Stage, run_in_foreground
from culture.ctl.home import (
    Home,
    load_both,
    lock,
    open_home,
    place_for_sockets,
    with_listen,
    with_server_port,
)
from culture.ctl.listening import listen, stop_listening
from culture.ctl.output import Console, how_to_connect
from culture.ctl.services import Services, notify_name
from culture.errors import ConfigError, Problem, UsageError
from culture.names import host_from_machine, nick_prefix
from culture.net.listeners import FOR_THE_GROUP, FOR_THE_OWNER, address_of
from culture.rehearsal.environment import environment as rehearsal_environment

_LOOPBACK = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    model = parser.add_mutually_exclusive_group()
    model.add_argument(
        "--rehearse", action="store_true", help="scripted answers: no key, no cost (this is the default)"
    )
    model.add_argument("--live", action="store_true", help="the real model, with your key or Claude login")
    parser.add_argument(
        "--home", metavar="DIR", type=Path, help="holds ircd.yaml and agents.yaml (default: ~/.culture)"
    )
    parser.add_argument("--port", metavar="N", type=int, help="listen here instead of on the configured port")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the lines on the wire too")


def run(options: argparse.Namespace) -> int:
    if options.port is not None and not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port} is not between 0 and 65535")
    if options.live:
        require_login(os.environ)
    home, written = open_home((options.home or paths.home(os.environ)).absolute())
    ircd, agents = load_both(home)
    lock(home)
    console = Console(sys.stdout, server_name(ircd), os.getpid())
    for file in written:
        console.say(f"wrote '{file}'")
    with ExitStack() as opened:
        up = _Up(options, home, ircd, agents, console, opened)
        return asyncio.run(run_in_foreground(up.stages(), console, up.invite))


class _Up:
    """What is started, and with which sockets; they are closed with `opened`."""

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
        self._sockets = opened.enter_context(place_for_sockets(home, map(notify_name, names)))
        self._services = Services(self._sockets, dict(self._env), verbose=options.verbose)
        self._moved = options.port is not None
        where = listen_addresses(ircd, options.port, where=str(home.ircd_yaml))
        self._irc = [self._listen(address) for address in where]

    def stages(self) -> list[Stage]:
        """The model, the server, then the agents."""
        essential = [self._server()]
        if not self._live:
            essential.insert(0, self._rehearsal())
        agents = [self._agent(agent.nick) for agent in self._agents.agents]
        return [*(Stage([each], essential=True) for each in essential), Stage(agents, essential=False)]

    def invite(self, ready: Sequence[Service]) -> None:
        address = address_of(self._irc[0])
        self._console.announce(invitation(self._ircd, self._agents, address, [each.name for each in ready]))

    def _listen(self, address: Address, *, unix_mode: int = FOR_THE_GROUP) -> socket.socket:
        listener = listen(address, unix_mode)
        self._opened.callback(stop_listening, listener)
        return listener

    def _rehearsal(self) -> Service:
        http = self._listen(TcpAddress(_LOOPBACK, 0))
        self._env |= rehearsal_environment(f"http://{address_of(http)}")
        self._console.say("rehearsing: answers come from a script and cost nothing")
        return self._services.rehearsal(http)

    def _server(self) -> Service:
        config = self._home.ircd_yaml
        others = [text for text in self._ircd.listen if parse_endpoint(text).carrier != PLAIN]
        bound = [*(str(address_of(each)) for each in self._irc), *others]
        if bound != list(self._ircd.listen):
            # The server opens what is configured and was not passed: it must find nothing to add.
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
    return ircd.name or host_from_machine(socket.gethostname())


def listen_addresses(ircd: IrcdConfig, port: int | None, *, where: str) -> list[Address]:
    """Where the server listens for plain IRC; `port` stands in for that of the first TCP address."""
    addresses = [each.address for text in ircd.listen if (each := parse_endpoint(text)).carrier == PLAIN]
    if not addresses:
        raise ConfigError([Problem(where, "'listen' has no plain address", 'listen: ["127.0.0.1:6667"]')])
    if port is None:
        return addresses
    first = next((each for each in addresses if isinstance(each, TcpAddress)), TcpAddress(_LOOPBACK, 0))
    return [TcpAddress(first.host, port), *(each for each in addresses if each != first)]


def invitation(ircd: IrcdConfig, agents: AgentsConfig, address: Address, ready: Sequence[str]) -> str:
    """How to connect, and whom to talk to: the first agent that is there."""
    present = [agent for agent in agents.agents if f"culture-agent@{agent.nick}" in ready]
    channels = [channel for agent in present for channel in agent.channels]
    nick = "you" if ircd.nick_policy == "open" else nick_prefix(server_name(ircd)) + "you"
    return how_to_connect(
        address, nick, channels[0] if channels else "#general", present[0].nick if present else None
    )
