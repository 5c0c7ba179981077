"""The model of `agents.yaml`: the agents of this host, and the server they connect to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

import yaml

from culture.config.address import Address, TcpAddress, check_address, parse_address
from culture.config.agent.budgets import AgentBudgetsConfig, BudgetsConfig, PriceConfig
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.config.agent.permissions import PermissionsConfig
from culture.config.agent.supervisor import HeartbeatConfig, SupervisorConfig, SupervisorOverride
from culture.config.agent.thinking import ThinkingLevel
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import WebhooksConfig
from culture.config.rules import absolute_path, at_least, checked, credential_name, each
from culture.errors import ConfigError, NoInputError, Problem
from culture.names import (
    AGENT_NICK_LENGTH,
    agent_user,
    has_prefix,
    is_agent_nick,
    is_channel,
    nick_prefix,
)

# In front of the name of an account, or a mask of such names.
ACCOUNT_PREFIX: Final = "account:"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_MEMORY: Final = re.compile(r"[0-9]+[KMGT]?|[0-9]{1,2}%")


def _check_nick(nick: str) -> str | None:
    if not is_agent_nick(nick) or "-" not in nick:
        return f"'{nick}' is not <host>-<name> of letters, digits, '_' and '-'"
    if len(nick) > AGENT_NICK_LENGTH:
        user = f"its user '{agent_user(nick)}' would have a name that Linux does not allow"
        return f"'{nick}' is longer than {AGENT_NICK_LENGTH} letters: {user}"
    return None


def _check_channel(name: str) -> str | None:
    return None if is_channel(name) else f"'{name}' is not a channel: write it as \"#name\", in quotes"


def _check_host(host: str) -> str | None:
    return check_address(host if host.startswith("unix:") else str(TcpAddress(host, 0)))


def _check_port(port: int) -> str | None:
    return None if 0 < port < 65536 else f"must be between 1 and 65535, is {port}"


def _check_name(name: str) -> str | None:
    return None if _NAME.fullmatch(name) else f"'{name}' is not a name of letters, digits, '_' and '-'"


def _check_user(user: str) -> str | None:
    return None if not user or _USER.fullmatch(user) else f"'{user}' is not the name of a user"


def _check_memory(text: str) -> str | None:
    if not text or _MEMORY.fullmatch(text):
        return None
    return f"'{text}' is not an amount of memory, such as 4G or 25%"


def _check_command(command: tuple[str, ...]) -> str | None:
    return None if command and command[0] else "needs the name of a program"


def _check_variable(name: str) -> str | None:
    return None if not name or _VARIABLE.fullmatch(name) else f"'{name}' is not the name of a variable"


def _check_person(text: str) -> str | None:
    if text.startswith(ACCOUNT_PREFIX) and len(text) > len(ACCOUNT_PREFIX):
        return None
    return f"'{text}' is not account:NAME; a nick does not prove who somebody is"


def check_unique_nicks(agents: tuple["AgentConfig", ...]) -> str | None:
    nicks = [agent.nick.lower() for agent in agents]
    twice = next((nick for nick in nicks if nicks.count(nick) > 1), None)
    return f"nick '{twice}' stands twice" if twice else None


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The IRC server that the agents connect to."""

    # The host whose server this is; when given, every agent's nick begins with it.
    name: str = ""
    # A host name, an IP address, or unix:/path of the server's socket.
    host: str = checked(_check_host, default="127.0.0.1")
    port: int = checked(_check_port, default=6667)
    # The name of the credential that holds the server's connection password.
    password_credential: str = checked(credential_name, default="")
    tls: bool = False
    # The authorities that the server's certificate must come from; empty: those of the system.
    tls_ca: str = checked(absolute_path, default="")

    def __post_init__(self) -> None:
        if self.tls and self.host.startswith("unix:"):
            raise ValueError("'tls' is for other machines; a unix socket does not need it")

    @property
    def address(self) -> Address:
        """Return the address of the server."""
        return parse_address(self.host) if self.host.startswith("unix:") else TcpAddress(self.host, self.port)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent."""

    nick: str = checked(_check_nick)
    agent: Literal["claude", "codex", "copilot", "acp"] = "claude"
    # What starts its program, with options; empty: the program that the backend looks for on PATH.
    command: tuple[str, ...] = ()
    # The same for acp: a command, or the name of an agent that is known alone.
    acp_command: tuple[str, ...] = checked(_check_command, default=("opencode", "acp"))
    # Empty: a directory of its own below the state directory.
    directory: str = checked(absolute_path, default="")
    # Whose service it is; empty: a user of its own, culture-NICK. Its unit follows with `culturectl units`.
    user: str = checked(_check_user, default="")
    # What it may write to besides its directory.
    writable: tuple[str, ...] = checked(each(absolute_path), default=())
    # How much memory it may have with all that it runs, as systemd writes it; empty: what is left.
    memory_max: str = checked(_check_memory, default="")
    channels: tuple[str, ...] = checked(each(_check_channel), default=("#general",))
    # Empty: what the backend takes by itself.
    model: str = ""
    thinking: ThinkingLevel = "medium"
    # bypass: the unit's sandbox is the only bound. deny: the irc skill and nothing else. ask: `permissions`.
    permission_mode: Literal["bypass", "ask", "deny"] = "bypass"
    # Which tool calls need an answer with permission_mode ask.
    permissions: PermissionsConfig = field(default_factory=PermissionsConfig)
    # Whose answers count for this agent; None: `trust` of the whole host.
    trust: TrustConfig | None = None
    # The name of the credential that holds the backend's key; empty: the backend's own login.
    key_credential: str = checked(credential_name, default="")
    # The environment variable by which the backend's program gets it; empty: the backend's own.
    key_variable: str = checked(_check_variable, default="")
    instructions: str = ""
    # What it can do or is interested in; each is a name that calls it among others, as `@tag`.
    tags: tuple[str, ...] = checked(each(_check_name), default=())
    # Other names that call it, as `@name`.
    wake_on: tuple[str, ...] = checked(each(_check_name), default=())
    # Who may start a turn, and answer in one: nicks as masks, or `account:` and a mask.
    allow_from: tuple[str, ...] = ("*",)
    # Who may call it by `@all` or `@tag`: people, and agents that are operators of the channel; or everyone.
    groups_from: Literal["people", "everyone"] = "people"
    # Whether it reacts to messages of people that it takes up and finishes, and shows that it is typing.
    receipts: Literal["react", "off"] = "react"
    # Whether a session begins anew with each start of the daemon.
    fresh: bool = False
    # Its account on the server; empty: its nick.
    account: str = ""
    # The name of the credential that holds the account's password; empty: it does not log in.
    account_credential: str = checked(credential_name, default="")
    # What is different about its supervisor; `off` if it has none.
    supervisor: SupervisorOverride = field(default_factory=SupervisorOverride)
    budgets: AgentBudgetsConfig = field(default_factory=AgentBudgetsConfig)


@dataclass(frozen=True, slots=True)
class TurnsConfig:
    """The timeouts and retries of an agent's turns."""

    # How long a turn may show no sign of life; twelve times as long while a tool is used.
    stall_timeout_s: float = checked(at_least(1), default=300.0)
    # How old a question gets that nobody had time for.
    expiry_s: float = checked(at_least(1), default=86400.0)
    # From the crash of a backend to its next start.
    restart_delay_s: float = checked(at_least(0), default=5.0)
    # So many crashes in so long a time pause the agent.
    crashes: int = checked(at_least(1), default=3)
    crash_window_s: float = checked(at_least(0), default=300.0)


@dataclass(frozen=True, slots=True)
class AgentsConfig:
    """Everything in agents.yaml."""

    server: ServerConfig = field(default_factory=ServerConfig)
    turns: TurnsConfig = field(default_factory=TurnsConfig)
    webhooks: WebhooksConfig = field(default_factory=WebhooksConfig)
    # Whose answers to the questions of agents count.
    trust: TrustConfig = field(default_factory=TrustConfig)
    loop_guard: LoopGuardConfig = field(default_factory=LoopGuardConfig)
    # Accounts whose owners are people and decide for agents: `account:` and a mask. A Culture server tells
    # who is a person without it; on other servers this is the only way.
    people: tuple[str, ...] = checked(each(_check_person), default=())
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)
    budgets: BudgetsConfig = field(default_factory=BudgetsConfig)
    # What a million tokens cost, by the name of the model.
    prices: dict[str, PriceConfig] = field(default_factory=dict)
    buffer_size: int = checked(at_least(1), default=500)
    agents: tuple[AgentConfig, ...] = checked(check_unique_nicks, default=())


class AgentUser(NamedTuple):
    """What the server must know about an agent: its nick, and the Unix user if it runs as a person."""

    nick: str
    user: str = ""


def read_agent_users(path: Path) -> list[AgentUser]:
    """Return the agents of a file that may have mistakes elsewhere, which the agents report themselves.

    Raises NoInputError if the file cannot be read or is not YAML. Without a file there are no agents.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not YAML"
        raise NoInputError(f"cannot read '{path}': {reason}", hint=f"ls -l {path}") from None
    agents = document.get("agents") if isinstance(document, dict) else None
    return [
        AgentUser(agent["nick"], user if isinstance(user := agent.get("user"), str) else "")
        for agent in (agents if isinstance(agents, list) else [])
        if isinstance(agent, dict) and isinstance(agent.get("nick"), str) and is_agent_nick(agent["nick"])
    ]


def find_agent(config: AgentsConfig, nick: str, *, where: str) -> AgentConfig:
    """Return the agent with this nick. Raise ConfigError if the configured server would refuse the nick."""
    for agent in config.agents:
        if agent.nick.lower() == nick.lower():
            break
    else:
        raise ConfigError([Problem(where, f"no agent '{nick}'", _hint_for(nick, config.agents))])
    if config.server.name and not has_prefix(agent.nick, config.server.name):
        wrong = f"nick '{agent.nick}' does not begin with '{config.server.name}-', the name of its server"
        prefix, name = nick_prefix(config.server.name), agent.nick.partition("-")[2]
        hint = f"call the agent '{prefix}{name}', or set server.name to what its host is called in ircd.yaml"
        raise ConfigError([Problem(where, wrong, hint)])
    return agent


def _hint_for(nick: str, agents: Sequence[AgentConfig]) -> str:
    known = [agent.nick for agent in agents]
    # Only who mistyped a nick waits for this import.
    import difflib

    # Nicks of one host begin alike: what only that makes similar is another one.
    close = difflib.get_close_matches(nick, known, n=1, cutoff=0.8)
    did_you_mean = f"did you mean '{close[0]}'? " if close else ""
    return f"{did_you_mean}configured agents: {', '.join(known) or 'none'}"
