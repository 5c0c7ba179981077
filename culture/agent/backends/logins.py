"""Know how each backend's program logs in, and whether it has a key or a login already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Who runs claude-agent-acp or codex-acp logs in with the program that these two start.
_LOGS_IN_BY: Final = {"claude-agent-acp": "claude", "codex-acp": "codex"}
_IN_ANY_BROWSER: Final = "open the address that is shown in a browser on any machine"


@dataclass(frozen=True, slots=True)
class CredentialFile:
    """A file that exists once somebody has logged in: below $VARIABLE if that is set, else below the home."""

    variable: str
    # Below the home.
    default: str
    file: str

    def path(self, env: Mapping[str, str]) -> Path:
        configured = env.get(self.variable)
        directory = Path(configured) if configured else Path(env.get("HOME", "/"), self.default)
        return directory / self.file


@dataclass(frozen=True, slots=True)
class Login:
    """How a program logs in."""

    # What stands behind the program's name.
    arguments: tuple[str, ...]
    # What a person without a browser on this host has to do.
    headless: str
    # Added where no browser can be opened.
    headless_arguments: tuple[str, ...] = ()
    # Environment variables that stand for a key, or for a provider that needs none.
    variables: tuple[str, ...] = ()
    # Empty if the program works without any login, or nobody can tell.
    place: CredentialFile | None = None


LOGINS: Final[Mapping[str, Login]] = {
    "claude": Login(
        ("auth", "login"),
        f"{_IN_ANY_BROWSER}, then paste the code that you get there",
        variables=(
            *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
            *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
        ),
        place=CredentialFile("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"),
    ),
    "codex": Login(
        ("login",),
        f"{_IN_ANY_BROWSER}, and type the code that is shown here",
        headless_arguments=("--device-auth",),
        variables=("OPENAI_API_KEY", "CODEX_API_KEY"),
        place=CredentialFile("CODEX_HOME", ".codex", "auth.json"),
    ),
    "copilot": Login(
        ("login",),
        f"{_IN_ANY_BROWSER}, and type the code that is shown here",
        headless_arguments=("--device-code",),
        variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        # The login itself may be in the keyring of the desktop.
        place=CredentialFile("COPILOT_HOME", ".copilot", ""),
    ),
    # Some of its models need no login, and its configuration may name one on this host.
    "opencode": Login(
        ("auth", "login"), "choose a provider that takes an API key, or one that shows a code to type"
    ),
    "cline": Login(
        ("auth",),
        "choose a provider that takes an API key, or one that shows a code to type",
        variables=("CLINE_API_KEY",),
        place=CredentialFile("CLINE_DATA_DIR", ".cline/data", "settings/providers.json"),
    ),
}


def login_program(agent: str, command: Sequence[str], acp_command: Sequence[str]) -> str:
    """Return the name, or the path, of the program that logs in for an agent of agents.yaml."""
    if agent != "acp":
        return command[0] if command else agent
    name = Path(acp_command[0]).name
    return _LOGS_IN_BY.get(name, acp_command[0])


def login_name(agent: str, acp_command: Sequence[str]) -> str:
    """Return the name in LOGINS for an agent of agents.yaml: its program may have any other name."""
    return Path(login_program(agent, (), acp_command)).name


def login_of(agent: str, acp_command: Sequence[str]) -> Login | None:
    return LOGINS.get(login_name(agent, acp_command))


def has_login(login: Login, env: Mapping[str, str]) -> bool:
    """Return whether there is a key or a login. Only that a file exists is looked at, never what is in it."""
    if login.place is None or any(env.get(name) for name in login.variables):
        return True
    return login.place.path(env).exists()
