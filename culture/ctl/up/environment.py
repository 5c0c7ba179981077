"""The environment of the programs that `culturectl up` starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from culture.agent.backends.logins import Login, has_login, login_name, login_of
from culture.config.agents import AgentConfig
from culture.errors import UnavailableError

# Variables that a service manager sets for culturectl and that its children must not inherit.
_FROM_MANAGER = (
    "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "FDSTORE",
    "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CULTURE_SOCKET", "CULTURE_NICK", "CULTURE_WHISPERS",
)  # fmt: skip


def child_environment(env: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment of all children: that of culturectl, with CULTURE_HOME set to `home`."""
    inherited = {name: value for name, value in env.items() if name not in _FROM_MANAGER}
    return {**inherited, "CULTURE_HOME": str(home)}


def require_logins(agents: Sequence[AgentConfig], env: Mapping[str, str], login: str) -> list[str]:
    """Return a warning for each agent without key and login. Raises UnavailableError if no agent has one.

    `login` is the login command, without the nick.
    """
    lacking = [(agent, lack) for agent in agents if (lack := _lacking(agent, env))]
    hints = [f"{login} {agent.nick}, or export {lack.variables[0]}=…" for agent, lack in lacking]
    if lacking and len(lacking) == len(agents):
        first = lacking[0][0]
        name = login_name(first.agent, first.acp_command).title()
        raise UnavailableError(
            f"--live needs a key or a {name} login, and there is neither",
            hint=f"{hints[0]}, or go on without --live",
        )
    return [
        f"{agent.nick} has neither a key nor a login: {hint}"
        for (agent, _), hint in zip(lacking, hints, strict=True)
    ]


def _lacking(agent: AgentConfig, env: Mapping[str, str]) -> Login | None:
    """Return the login that an agent would need; None if it has a key or a login, or nobody can tell."""
    login = login_of(agent.agent, agent.acp_command)
    if login is None or agent.key_credential or env.get(agent.key_variable):
        return None
    return None if has_login(login, env) else login
