"""What `agents.yaml` says: the agents of this host, and the server they talk to."""

from dataclasses import dataclass, field
from typing import Literal

from culture.config.address import Address, TcpAddress, check_address, parse_address
from culture.config.rules import at_least, checked, each
from culture.errors import ConfigError, Problem
from culture.names import has_prefix, is_agent_nick, is_channel


def _check_nick(nick: str) -> str | None:
    if is_agent_nick(nick) and "-" in nick and len(nick) <= 64:
        return None
    return f"'{nick}' is not <host>-<name> of letters, digits, '_' and '-'"


def _check_channel(name: str) -> str | None:
    return None if is_channel(name) else f"'{name}' is not a channel: write it as \"#name\", in quotes"


def _check_host(host: str) -> str | None:
    return check_address(host if host.startswith("unix:") else str(TcpAddress(host, 0)))


def _check_port(port: int) -> str | None:
    return None if 0 < port < 65536 else f"must be between 1 and 65535, is {port}"


def _check_unique(agents: tuple["AgentConfig", ...]) -> str | None:
    nicks = [agent.nick.lower() for agent in agents]
    twice = next((nick for nick in nicks if nicks.count(nick) > 1), None)
    return f"nick '{twice}' stands twice" if twice else None


@dataclass(frozen=True, slots=True)
class ServerConfig:
    # The host whose server this is; when given, every agent's nick begins with it.
    name: str = ""
    # A host name, an IP address, or unix:/path of the server's socket.
    host: str = checked(_check_host, default="127.0.0.1")
    port: int = checked(_check_port, default=6667)
    # The name of the credential that holds the server's connection password.
    password_credential: str = ""

    @property
    def address(self) -> Address:
        return parse_address(self.host) if self.host.startswith("unix:") else TcpAddress(self.host, self.port)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    nick: str = checked(_check_nick)
    agent: Literal["claude"] = "claude"
    # Empty: a directory of its own below the state directory.
    directory: str = ""
    channels: tuple[str, ...] = checked(each(_check_channel), default=("#general",))
    # Empty: what the backend takes by itself.
    model: str = ""
    thinking: Literal["off", "low", "medium", "high", "max"] = "medium"
    # bypass: the unit's sandbox is the only bound. deny: the irc skill and nothing else.
    permission_mode: Literal["bypass", "deny"] = "bypass"
    # The name of the credential that holds the backend's key; empty: the backend's own login.
    key_credential: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class AgentsConfig:
    server: ServerConfig = field(default_factory=ServerConfig)
    buffer_size: int = checked(at_least(1), default=500)
    agents: tuple[AgentConfig, ...] = checked(_check_unique, default=())


def find_agent(config: AgentsConfig, nick: str, *, where: str) -> AgentConfig:
    """The agent with this nick, which must be one that the configured server takes."""
    for agent in config.agents:
        if agent.nick.lower() == nick.lower():
            break
    else:
        known = ", ".join(agent.nick for agent in config.agents) or "none"
        raise ConfigError([Problem(where, f"no agent '{nick}'", f"configured agents: {known}")])
    if config.server.name and not has_prefix(agent.nick, config.server.name):
        wrong = f"nick '{agent.nick}' does not begin with '{config.server.name}-', the name of its server"
        raise ConfigError([Problem(where, wrong)])
    return agent
