"""The environment of the programs that `culturectl up` starts."""

from collections.abc import Mapping
from pathlib import Path

from culture.errors import UnavailableError

# Said by a service manager to us, and not to our children.
_FROM_MANAGER = (
    "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "FDSTORE",
    "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CULTURE_SOCKET", "CULTURE_NICK",
)  # fmt: skip

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def child_environment(env: Mapping[str, str], home: Path) -> dict[str, str]:
    """What every child starts from: ours, with its files in `home`."""
    kept = {name: value for name, value in env.items() if name not in _FROM_MANAGER}
    return {**kept, "CULTURE_HOME": str(home)}


def require_login(env: Mapping[str, str]) -> None:
    """Whether the real model can be reached at all. Only that a login exists is looked at, never into it."""
    if any(env.get(name) for name in (*_KEYS, *_PROVIDERS)):
        return
    config = Path(env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "/"), ".claude"))
    if not (config / ".credentials.json").is_file():
        raise UnavailableError(
            "--live needs a key or a Claude login, and there is neither",
            hint="export ANTHROPIC_API_KEY=…, or run 'claude' and type /login, or go on without --live",
        )
