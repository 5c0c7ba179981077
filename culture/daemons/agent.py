"""The entry point of culture-agent, the daemon of one agent."""

import asyncio
import os
import pwd
import secrets
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from culture import errors
from culture.agent.backend.briefing import SKILL, briefing
from culture.agent.backend.environment import (
    agent_state_directory,
    check_directory,
    drop_private_variables,
    irc_directory,
    session_environment,
    working_directory,
)
from culture.agent.backend.permission import only_irc
from culture.agent.backend.shell import make_shell
from culture.agent.backends.table import BACKENDS, KEY_VARIABLES, TOOLLESS, key_variables
from culture.agent.contract import SessionSpec
from culture.agent.daemon import AgentDaemon
from culture.agent.identity import Passwords
from culture.agent.ledger.logins import login_identity
from culture.agent.ledger.prices import check_budgets
from culture.agent.ledger.settings import cost_settings, open_ledger
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import Webhooks
from culture.agent.supervision.booked_model import BookedModel, OpenSession
from culture.agent.supervision.judge_session import judge_session
from culture.agent.supervision.supervisor import Supervisor
from culture.agent.tools.model_tools import TOOLS, make_tools
from culture.client.connection import tls_of
from culture.commandline import Parser, daemon_parser
from culture.config import loader, paths
from culture.config.agent.supervisor import HeartbeatConfig
from culture.config.agent.thinking import effort_of
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.errors import ConfigError, Problem, UnavailableError
from culture.net.listen.listeners import FOR_THE_OWNER, listening
from culture.rehearsal.environment import REHEARSING
from culture.store.agent.file import AgentFile
from culture.systemd.credentials import agent_directory, read_credential
from culture.systemd.journal import log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, tell_refusal, watchdog_interval_s
from culture.systemd.sockets import passed_sockets

PROGRAM = "culture-agent"


def main() -> None:
    """Run culture-agent and exit with its status."""
    sys.exit(errors.run(PROGRAM, lambda: tell_refusal(_main, os.environ)))


def _main() -> int:
    options = _parser().parse_args()
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    agent = find_agent(config, options.nick, where=str(path))
    _check_spelling(agent, options.nick, os.environ)
    _check_user(agent, pwd.getpwuid(os.geteuid()).pw_name, os.environ)
    check_budgets(config, agent, str(path), is_rehearsing=REHEARSING in os.environ)
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    passed = [each.socket for each in passed_sockets(os.environ)]
    own = [] if passed else [f"unix:{_make_parent(paths.agent_socket(agent.nick, os.environ))}"]
    with listening(own, passed, unix_mode=FOR_THE_OWNER) as listeners:
        file = AgentFile(agent_state_directory(agent.nick, os.environ))
        try:
            asyncio.run(_serve(config, agent, listeners[0], file))
        finally:
            file.close()
    return 0


def _check_spelling(agent: AgentConfig, given: str, env: Mapping[str, str]) -> None:
    """Refuse another spelling in the name of a unit: its user, state and socket would be another agent's."""
    if given != agent.nick and env.get("STATE_DIRECTORY"):
        what = f"the unit is called '{given}'"
        raise ConfigError(
            [Problem(f"agent '{agent.nick}'", what, f"systemctl start culture-agent@{agent.nick}")]
        )


def _check_user(agent: AgentConfig, user: str, env: Mapping[str, str]) -> None:
    """Refuse to run as another user than the configured one, whose files and socket the agent needs."""
    if agent.user and agent.user != user and env.get("STATE_DIRECTORY"):
        unit = f"culture-agent@{agent.nick}"
        what = f"'user' is '{agent.user}', but the unit runs as '{user}'"
        hint = f"culturectl units && systemctl restart {unit}.socket {unit}.service"
        raise ConfigError([Problem(f"agent '{agent.nick}'", what, hint)])


async def _serve(config: AgentsConfig, agent: AgentConfig, listener: socket.socket, file: AgentFile) -> None:
    notifier = Notifier(os.environ)
    interval_s = watchdog_interval_s(os.environ, os.getpid())
    passwords = Passwords(
        _secret(config.server.password_credential, agent), _secret(agent.account_credential, agent)
    )
    proof = secrets.token_hex(16)
    spec = _session_spec(agent, str(config.server.address), Path(listener.getsockname()), proof)
    _check_backend(agent, spec)
    costs = cost_settings(
        config,
        agent,
        open_ledger(config, agent.nick, os.environ),
        login=login_identity(agent, _secret(agent.key_credential, agent), os.environ),
        is_rehearsing=REHEARSING in os.environ,
    )
    supervisor = _supervisor(config, agent, spec, lambda: daemon.costs.account.side_session("supervisor"))
    daemon = AgentDaemon(
        agent,
        config.server.address,
        lambda session: BACKENDS[agent.agent](
            replace(
                spec,
                resume=session,
                tools=make_tools(daemon.handle, daemon.whispers),
                max_budget_usd=daemon.costs.rest_usd(),
                judge=daemon.judge if agent.permission_mode == "ask" else spec.judge,
            )
        ),
        listener,
        file,
        spec.directory,
        limits=config.turns,
        trust=config.trust,
        people=config.people,
        loop_guard=config.loop_guard,
        passwords=passwords,
        tls=tls_of(config.server),
        buffer_size=config.buffer_size,
        proof=proof,
        webhooks=_webhooks(config, agent),
        costs=costs,
        supervisor=supervisor,
        on_status=notifier.status,
    )
    # All credentials are read by now; programs that the agent starts must not find them.
    drop_private_variables(os.environ)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, daemon.stop)
    watchdog = asyncio.create_task(keep_alive(notifier, interval_s, lambda: daemon.is_alive))
    try:
        await daemon.run(
            on_ready=lambda: notifier.ready(daemon.operations.status()), on_stop=notifier.stopping
        )
    finally:
        watchdog.cancel()


def _webhooks(config: AgentsConfig, agent: AgentConfig) -> Webhooks:
    named = config.webhooks
    return Webhooks(
        named,
        JournalEvents(agent.nick, agent.agent),
        url=_secret(named.url_credential, agent),
        token=_secret(named.token_credential, agent),
    )


def _supervisor(
    config: AgentsConfig, agent: AgentConfig, spec: SessionSpec, open_session: OpenSession
) -> Supervisor | None:
    settings = agent.supervisor.applied_to(config.supervisor)
    if not settings.enabled and config.heartbeat == HeartbeatConfig():
        return None
    backend, session = judge_session(settings, agent, spec, _secret(settings.key_credential, agent))
    return Supervisor(
        settings,
        config.heartbeat,
        BookedModel(lambda: TOOLLESS[backend](session), open_session) if settings.enabled else None,
        JournalEvents(agent.nick, agent.agent),
        clock=time.monotonic,
    )


def _check_backend(agent: AgentConfig, spec: SessionSpec) -> None:
    """Refuse a backend that cannot run, before the agent connects to the server."""
    try:
        BACKENDS[agent.agent](spec).look_for_program()
    except UnavailableError as error:
        # A configuration error prevents restarts, which would announce the agent again and again.
        raise ConfigError([Problem(f"agent '{agent.nick}'", str(error), error.hint)]) from None


def _session_spec(agent: AgentConfig, server: str, listener: Path, proof: str) -> SessionSpec:
    if paths.VENDOR.is_dir():
        # Not PYTHONPATH, which the backend's program and its tools would inherit.
        sys.path.insert(0, str(paths.VENDOR))
    for place in agent.writable:
        check_directory(place, agent.nick)
    irc = irc_directory(Path(sys.executable), Path(sys.argv[0]))
    skill = SKILL.read_text(encoding="utf-8")
    secrets = key_variables(agent.agent, agent.key_variable)
    own = session_environment(
        agent.nick,
        listener,
        irc,
        {agent.key_variable or KEY_VARIABLES[agent.agent]: _secret(agent.key_credential, agent)},
        os.environ,
        proof,
    )
    shell = make_shell(agent_state_directory(agent.nick, os.environ), secrets, own["PATH"])
    return SessionSpec(
        directory=working_directory(agent.directory, agent.nick, os.environ),
        briefing=briefing(agent.nick, server, agent.channels, agent.instructions, skill),
        env={**own, **shell},
        secret_variables=secrets,
        model=agent.model,
        thinking=effort_of(agent.thinking),
        judge=None if agent.permission_mode == "bypass" else only_irc(TOOLS),
        is_locked=agent.permission_mode != "ask",
        deferrals=agent_state_directory(agent.nick, os.environ) / "deferred"
        if agent.permission_mode == "ask"
        else None,
        command=agent.acp_command if agent.agent == "acp" else agent.command,
    )


def _make_parent(path: Path) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _secret(credential: str, agent: AgentConfig) -> str:
    return read_credential(credential, os.environ, agent_directory(agent.nick)) if credential else ""


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "Run one agent of this host.")
    where = "Configuration (default: ~/.culture/agents.yaml if it exists, else /etc/culture/agents.yaml)"
    parser.add_argument("nick", metavar="NICK", help="Nick of the agent in agents.yaml")
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    return parser


if __name__ == "__main__":
    main()
