"""What the server would need to start with a configuration, tried without starting it."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from culture.config import paths
from culture.config.address import parse_endpoint
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError, CultureError, NotAllowedError, Problem
from culture.names import fold, nick_prefix
from culture.net.reception import find_websocket
from culture.net.tls import certificate_for
from culture.net.tokens import Tokens
from culture.skills.table import find_skill
from culture.systemd.credentials import read_credential


def what_is_wrong(config: IrcdConfig, path: Path, env: Mapping[str, str]) -> list[CultureError]:
    """All of it. Files are read as who asks: root may read more than the server."""
    wrong = []
    for attempt in _attempts(config, path.absolute(), env):
        try:
            attempt()
        except CultureError as error:
            wrong.append(error)
    return wrong


def _attempts(config: IrcdConfig, path: Path, env: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    for credential in _credentials(config):
        yield partial(read_credential, credential, _with_credentials(path, env))
    yield partial(certificate_for, config.tls, [])
    if any(parse_endpoint(each).carrier.is_websocket for each in config.listen):
        yield find_websocket
    if config.oidc.is_used:
        yield partial(Tokens, config.oidc)
    for skill in config.skills:
        yield partial(find_skill, skill)
    yield partial(_check_links, config, path)
    if config.state_dir or path.parent != paths.SYSTEM_CONFIG:
        # Otherwise systemd makes it.
        yield partial(_check_state_dir, paths.state_dir(config.state_dir, env))


def _credentials(config: IrcdConfig) -> list[str]:
    named = [
        config.password_credential,
        *(oper.password_credential for oper in config.opers),
        *(link.secret_credential for link in config.links),
    ]
    return [name for name in dict.fromkeys(named) if name]


def _with_credentials(path: Path, env: Mapping[str, str]) -> Mapping[str, str]:
    """Outside of the service, those of the system are where systemd would take them from."""
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


def _check_state_dir(path: Path) -> None:
    """Whether it is there, or could be made."""
    there = next(each for each in (path, *path.parents) if os.path.exists(each))
    if there.is_dir() and (there == path or os.access(there, os.W_OK | os.X_OK)):
        return
    why = "cannot be written" if there.is_dir() else "is not a directory"
    hint = "set state_dir in ircd.yaml to a directory that can be written"
    raise NotAllowedError(f"cannot make '{path}': '{there}' {why}", hint=hint)
