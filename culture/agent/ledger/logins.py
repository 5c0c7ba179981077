"""Which login an agent uses: agents with the same key or the same account share one quota."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.backends.logins import login_name, login_of
from culture.config.agents import AgentConfig

# The file below the program's directory that names the account of a login, and the keys that lead to its id.
# An account's id is no secret.
_ACCOUNTS: Final = {
    "claude": ("CLAUDE_CONFIG_DIR", "", ".claude.json", ("oauthAccount", "accountUuid")),
    "codex": ("CODEX_HOME", ".codex", "auth.json", ("tokens", "account_id")),
}


def login_identity(agent: AgentConfig, key: str, env: Mapping[str, str]) -> str:
    """Return the identity of the agent's login, the same for every agent that uses the login.

    `key` is the configured key, if there is one. Without a key or a known account, each Unix user has one
    login.
    """
    name = login_name(agent.agent, agent.acp_command)
    login = login_of(agent.agent, agent.acp_command)
    variables = login.variables if login is not None else ()
    secret = key or next((env[variable] for variable in variables if env.get(variable)), "")
    if secret:
        # Enough of a hash to tell keys apart, and nothing of the key itself.
        return f"{name}:key:{hashlib.sha256(secret.encode()).hexdigest()[:16]}"
    account = _account(name, env)
    return f"{name}:account:{account}" if account else f"{name}:user:{os.geteuid()}"


def _account(name: str, env: Mapping[str, str]) -> str:
    if name not in _ACCOUNTS:
        return ""
    variable, below_home, file, keys = _ACCOUNTS[name]
    directory = Path(env[variable]) if env.get(variable) else Path(env.get("HOME", "/"), below_home)
    try:
        value: Any = json.loads((directory / file).read_text(encoding="utf-8"))
        for each in keys:
            value = value[each]
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    return value if isinstance(value, str) else ""
