"""culture-agent: one agent of this host."""

import asyncio
import os
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path

from culture import errors
from culture.agent.backends.table import BACKENDS, KEY_VARIABLES
from culture.agent.briefing import SKILL, briefing
from culture.agent.contract import SessionSpec
from culture.agent.daemon import AgentDaemon
from culture.agent.environment import (
    irc_directory,
    keep_private,
    own_directory,
    session_environment,
    working_directory,
)
from culture.agent.identity import Passwords
from culture.agent.permission import only_irc
from culture.agent.tools import TOOLS, make_tools
from culture.client.connection import tls_of
from culture.commandline import Parser, daemon_parser
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.errors import ConfigError, Problem, UnavailableError
from culture.net.listeners import FOR_THE_OWNER, listening
from culture.rehearsal.environment import REHEARSING
from culture.store.agent.file import AgentFile
from culture.systemd.credentials import read_credential
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

PROGRAM = "culture-agent"


def main() -> None:
    sys.exit(errors.run(PROGRAM, _main))


def _main() -> int:
    options = _parser().parse_args()
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    agent = find_agent(config, options.nick, where=str(path))
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    passed = [each.socket for each in passed_sockets(os.environ)]
    own = [] if passed else [f"unix:{_make_place(paths.agent_socket(agent.nick, os.environ))}"]
    with listening(own, passed, unix_mode=FOR_THE_OWNER) as listeners:
        file = AgentFile(own_directory(agent.nick, os.environ))
        try:
            asyncio.run(_serve(config, agent, listeners[0], file))
        finally:
            file.close()
    return 0


async def _serve(config: AgentsConfig, agent: AgentConfig, listener: socket.socket, file: AgentFile) -> None:
    notifier = Notifier(os.environ)
    interval_s = watchdog_interval_s(os.environ, os.getpid())
    passwords = Passwords(_secret(config.server.password_credential), _secret(agent.account_credential))
    spec = _session_spec(agent, str(config.server.address), Path(listener.getsockname()))
    _check_backend(agent, spec)
    daemon = AgentDaemon(
        agent,
        config.server.address,
        lambda session: BACKENDS[agent.agent](
            replace(spec, resume=session, tools=make_tools(daemon.handle, daemon.whispers))
        ),
        listener,
        file,
        spec.directory,
        limits=config.turns,
        passwords=passwords,
        tls=tls_of(config.server),
        buffer_size=config.buffer_size,
        is_rehearsing=REHEARSING in os.environ,
        on_status=notifier.status,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, daemon.stop)
    watchdog = asyncio.create_task(keep_alive(notifier, interval_s, lambda: daemon.is_alive))
    try:
        await daemon.run(on_ready=lambda: notifier.ready(daemon.status()), on_stop=notifier.stopping)
    finally:
        watchdog.cancel()


def _check_backend(agent: AgentConfig, spec: SessionSpec) -> None:
    """One that cannot run is not told to the network first."""
    try:
        BACKENDS[agent.agent](spec).look_for_program()
    except UnavailableError as error:
        # Only a person can install it, and who restarts an agent until then fills its channels.
        raise ConfigError([Problem(f"agent '{agent.nick}'", str(error), error.hint)]) from None


def _session_spec(agent: AgentConfig, server: str, listener: Path) -> SessionSpec:
    if paths.VENDOR.is_dir():
        # Not by PYTHONPATH, which the backend's program and its tools would inherit.
        sys.path.insert(0, str(paths.VENDOR))
    irc = irc_directory(Path(sys.executable), Path(sys.argv[0]))
    skill = SKILL.read_text(encoding="utf-8")
    spec = SessionSpec(
        directory=working_directory(agent.directory, agent.nick, os.environ),
        briefing=briefing(agent.nick, server, agent.channels, agent.instructions, skill),
        env=session_environment(
            agent.nick,
            listener,
            irc,
            {agent.key_variable or KEY_VARIABLES[agent.agent]: _secret(agent.key_credential)},
            os.environ,
        ),
        model=agent.model,
        thinking=agent.thinking,
        judge=None if agent.permission_mode == "bypass" else only_irc(TOOLS),
        command=agent.acp_command if agent.agent == "acp" else agent.command,
    )
    keep_private(os.environ)
    return spec


def _make_place(path: Path) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _secret(credential: str) -> str:
    return read_credential(credential, os.environ) if credential else ""


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "One agent of this host.")
    where = "default: ~/.culture/agents.yaml if it exists, else /etc/culture/agents.yaml"
    parser.add_argument("nick", metavar="NICK", help="which agent of agents.yaml")
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    return parser


if __name__ == "__main__":
    main()
