"""Check whether the server could start with a configuration, without starting it."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from culture.config import paths
from culture.config.address import parse_endpoint
from culture.config.ircd import AUTHENTICATORS, IrcdConfig
from culture.config.links import check_secrets
from culture.errors import ConfigError, CultureError, NotAllowedError, Problem
from culture.names import fold, nick_prefix
from culture.net.auth.custom_authenticators import find_authenticator
from culture.net.auth.oidc_tokens import TokenVerifier
from culture.net.listen.protocol_stack import find_websocket
from culture.net.listen.tls import certificate_for
from culture.skills.table import find_skill
from culture.systemd.credentials import read_credential


def find_problems(config: IrcdConfig, path: Path, env: Mapping[str, str]) -> list[CultureError]:
    """Return every error. Files are read as the calling user: root may read more than the server."""
    problems = []
    for attempt in _attempts(config, path.absolute(), env):
        try:
            attempt()
        except CultureError as error:
            problems.append(error)
    return problems


def _attempts(config: IrcdConfig, path: Path, env: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    for credential in [] if _are_credentials_hidden(env) else _credentials(config):
        yield partial(read_credential, credential, _with_credentials(path, env))
    yield partial(certificate_for, config.tls, [])
    if any(parse_endpoint(each).carrier.is_websocket for each in config.listen):
        yield find_websocket
    if config.oidc.is_used:
        yield partial(TokenVerifier, config.oidc)
    for skill in config.skills:
        yield partial(find_skill, skill)
    for name in config.accounts.authenticators:
        if name not in AUTHENTICATORS:
            yield partial(find_authenticator, name)
    yield partial(_check_links, config, path)
    yield partial(_check_secrets, config, _with_credentials(path, env))
    if config.state_dir or path.parent != paths.SYSTEM_CONFIG:
        # Otherwise systemd creates it.
        yield partial(_check_state_dir, paths.state_dir(config.state_dir, env))


def _credentials(config: IrcdConfig) -> list[str]:
    named = [
        config.password_credential,
        *(oper.password_credential for oper in config.opers),
        *(link.secret_credential for link in config.links),
    ]
    return [name for name in dict.fromkeys(named) if name]


def _are_credentials_hidden(env: Mapping[str, str]) -> bool:
    """Return whether this process may not look into the directory of credentials that it is given.

    systemd 252 hides it from ExecReload=. A reload does not load credentials anyway.
    """
    try:
        os.listdir(env.get("CREDENTIALS_DIRECTORY", "/"))
    except PermissionError:
        return True
    except OSError:
        # What is missing is reported for each credential.
        return False
    return False


def _with_credentials(path: Path, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with the directory from which systemd loads credentials."""
    if path.parent != paths.SYSTEM_CONFIG:
        return env
    return {"CREDENTIALS_DIRECTORY": str(paths.SYSTEM_CONFIG / "credentials"), **env}


def _check_links(config: IrcdConfig, path: Path) -> None:
    own = fold(nick_prefix(config.name))
    for link in config.links:
        if fold(nick_prefix(link.name)) == own:
            what = (
                f"'links': '{link.name}' is this host itself, or one whose nicks begin as those of this one"
            )
            raise ConfigError([Problem(str(path), what)])


def _check_secrets(config: IrcdConfig, env: Mapping[str, str]) -> None:
    """Check that the secrets of links differ, as far as they can be read."""
    secrets = {}
    for link in config.links:
        with contextlib.suppress(ConfigError):
            secrets[link.name] = read_credential(link.secret_credential, env)
    check_secrets(secrets)


def _check_state_dir(path: Path) -> None:
    """Check that the directory exists or can be created."""
    there = next(each for each in (path, *path.parents) if os.path.exists(each))
    if there.is_dir() and (there == path or os.access(there, os.W_OK | os.X_OK)):
        return
    why = "cannot be written" if there.is_dir() else "is not a directory"
    hint = "set state_dir in ircd.yaml to a directory that can be written"
    raise NotAllowedError(f"cannot make '{path}': '{there}' {why}", hint=hint)
