"""`culturectl login`: log in to an agent's model as the agent's user."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from culture.agent.backends.logins import Login, login_of, login_program
from culture.agent.backends.programs import WANTED, find, how_to_install
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.ctl import output, systemctl
from culture.ctl.agent_call import unit_of
from culture.ctl.agents import is_installation
from culture.ctl.options import add_agents_config, add_nick
from culture.errors import NotAllowedError, UnavailableError

# The default PATH of services (systemd.exec(5)).
_SERVICE_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY")


@dataclass(frozen=True, slots=True)
class RunAs:
    """The user and the environment that the login runs with."""

    # Empty for the user who called culturectl.
    user: str
    env: Mapping[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument(
        "command", nargs="*", metavar="-- COMMAND", help="Run this command instead of the backend's login"
    )
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    agent = find_agent(loader.load(file, AgentsConfig), options.nick, where=str(file))
    is_service = is_installation(file)
    identity = _of_service(agent.nick) if is_service else RunAs("", os.environ)
    is_headless = not any(os.environ.get(name) for name in _DISPLAYS)
    if options.command:
        command = [_find_program(options.command[0], identity.env), *options.command[1:]]
    else:
        login = _login(agent)
        command = login_command(agent, login, identity.env, is_headless=is_headless)
        _explain(options, agent, login, identity, is_headless=is_headless)
    if is_service:
        command = as_service(agent.nick, identity, command, has_terminal=sys.stdin.isatty())
    status = _run(command)
    if status == 0 and is_service:
        output.note(options, f"hint: systemctl restart culture-agent@{agent.nick}")
    return status


def login_command(
    agent: AgentConfig, login: Login, env: Mapping[str, str], *, is_headless: bool
) -> list[str]:
    """Return the command of the backend's own login, as a path and its arguments."""
    program = login_program(agent.agent, agent.command, agent.acp_command)
    more = login.headless_arguments if is_headless else ()
    return [_find_program(program, env), *login.arguments, *more]


def as_service(nick: str, identity: RunAs, command: Sequence[str], *, has_terminal: bool) -> list[str]:
    """Return a systemd-run command with the user, home and state directory of the agent."""
    own_user = f"culture-agent-user@{nick}.service"
    properties = {
        "User": identity.user,
        # systemd creates it and gives it to the user, as when the agent starts.
        "StateDirectory": f"culture/agents/{nick}",
        "StateDirectoryMode": "0700",
        "UMask": "0077",
        # Creates the user, unless agents.yaml names another one.
        **({"Requires": own_user, "After": own_user} if identity.user == f"culture-{nick}" else {}),
    }
    return [
        *("systemd-run", "--quiet", "--collect", "--wait", "--service-type=exec"),
        "--pty" if has_terminal else "--pipe",
        f"--description=Login of Culture agent {nick}",
        *(f"--property={name}={value}" for name, value in properties.items()),
        *(f"--setenv={name}={value}" for name, value in identity.env.items()),
        f"--working-directory={identity.env['HOME']}",
        *("--", *command),
    ]


def _of_service(nick: str) -> RunAs:
    """Return the user and the environment that the agent's unit has, with its drop-ins."""
    if os.geteuid() != 0:
        raise NotAllowedError(
            f"only root can log in as the user of '{nick}'", hint=f"sudo culturectl login {nick}"
        )
    unit = systemctl.show([unit_of(nick)]).get(unit_of(nick), {})
    if systemctl.state_of(unit) == "not installed":
        raise UnavailableError(f"there is no unit '{unit_of(nick)}'", hint="reinstall culture")
    variables = (word.partition("=") for word in shlex.split(unit.get("Environment", "")))
    home = str(paths.SYSTEM_STATE / "agents" / nick)
    env = {"PATH": _SERVICE_PATH, "HOME": home, **{name: value for name, _, value in variables}}
    return RunAs(unit.get("User") or f"culture-{nick}", env)


def _login(agent: AgentConfig) -> Login:
    program = login_program(agent.agent, agent.command, agent.acp_command)
    login = login_of(agent.agent, agent.acp_command)
    if login is None:
        raise UnavailableError(
            f"the login command of '{program}' is unknown",
            hint=f"culturectl login {agent.nick} -- {program} ARGUMENTS…",
        )
    return login


def _find_program(program: str, env: Mapping[str, str]) -> str:
    """Return the path of a program as the agent finds it. The SDK brings a `claude` of its own."""
    wanted = next((each for each in WANTED if each.program == program), None)
    if program == "claude" and wanted is not None:
        found = find(wanted, env.get("PATH"), [paths.VENDOR])
        path = str(found.path) if found else None
    else:
        path = shutil.which(program, path=env.get("PATH"))
    if path is None:
        where = env.get("PATH", "")
        hint = how_to_install(wanted, [paths.VENDOR]) if wanted is not None else None
        raise UnavailableError(f"the program '{program}' is not on the agent's PATH ({where})", hint=hint)
    return str(Path(path).absolute())


def _explain(
    options: argparse.Namespace, agent: AgentConfig, login: Login, identity: RunAs, *, is_headless: bool
) -> None:
    who = f"user '{identity.user}'" if identity.user else "you"
    output.note(
        options, f"logging in {agent.nick} ({agent.agent}) as {who}, in '{identity.env.get('HOME', '/')}'"
    )
    if is_headless:
        output.note(options, f"no browser is available: {login.headless}")
        output.note(options, "hint: an API key needs no login; see key_credential in culture-agents.yaml(5)")


def _run(command: Sequence[str]) -> int:
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise UnavailableError(f"cannot run '{command[0]}': {error.strerror}") from None
    return status if status >= 0 else 128 - status
