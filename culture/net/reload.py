"""Read ircd.yaml and the credentials that it names, at start and on reload."""

import dataclasses
import logging
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from culture.config import loader
from culture.config.ircd import DEFAULT_MOTD_FILE, IrcdConfig
from culture.errors import ConfigError, CultureError, Problem
from culture.ircd.authority.kinds import update_all_kinds
from culture.ircd.commands.session.negotiation import announce_offers
from culture.ircd.session import Session
from culture.names import host_from_machine
from culture.net.auth.authenticator_chain import describe_access
from culture.net.auth.custom_authenticators import Authenticators, open_authenticators
from culture.net.driver import Driver
from culture.net.listen.exposure import is_for_others
from culture.net.listen.tls import Certificate
from culture.systemd.credentials import read_credential
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# Keys that only a restart changes.
NEEDS_RESTART: Final = (
    *("name", "listen", "password_credential", "state_dir", "oidc"),
    *("skills", "history", "logger", "links", "mesh"),
)


def read_config(path: Path) -> IrcdConfig:
    """Read ircd.yaml, and fill in the host name and the message of the day."""
    config = loader.load(path, IrcdConfig)
    name = config.name or host_from_machine(socket.gethostname())
    return dataclasses.replace(config, name=name, motd=config.motd or _read_motd(config.motd_file, path))


def _read_motd(file: str, config: Path) -> str:
    """Return the lines of a text file, without characters that IRC lines cannot contain."""
    if not file:
        return ""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        if file == DEFAULT_MOTD_FILE:
            return ""
        raise ConfigError([Problem(str(config), f"'motd_file': there is no '{file}'")]) from None
    except UnicodeDecodeError as error:
        wrong = f"'motd_file': '{file}' is not UTF-8 at byte {error.start}"
        raise ConfigError([Problem(str(config), wrong)]) from None
    except OSError as error:
        wrong = f"'motd_file': cannot read '{file}': {error.strerror}"
        raise ConfigError([Problem(str(config), wrong)]) from None
    return "\n".join(text.replace("\0", "").splitlines())


def read_password(config: IrcdConfig, env: Mapping[str, str]) -> str:
    """Return the connection password, or an empty string if none is configured."""
    return read_credential(config.password_credential, env) if config.password_credential else ""


def read_oper_passwords(config: IrcdConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords of the operators that have one, by name."""
    return {
        oper.name: read_credential(oper.password_credential, env)
        for oper in config.opers
        if oper.password_credential
    }


def log_access_policy(driver: Driver) -> None:
    """Log who may connect, and warn about open listeners that other machines can reach."""
    config, kind = driver.ircd.config, fields("who-may-come-in")
    log.info("%s", describe_access(config), extra=kind)
    if not config.accounts.required and not config.password_credential:
        for address in filter(is_for_others, driver.addresses):
            log.warning(
                "anyone who can reach %s may connect: neither an account nor a password is required", address
            )


def reload(
    driver: Driver,
    path: Path,
    certificate: Certificate | None,
    env: Mapping[str, str],
    operator: Session | None = None,
) -> None:
    """Apply the changed configuration file; log what is not applied, and tell the operator who asked."""
    for objection in _reload(driver, path, certificate, env):
        log.warning("%s", objection)
        if operator is not None:
            driver.ircd.fail(operator, "REHASH", "CONFIG_BAD", objection)
    driver.wake()


def _reload(
    driver: Driver, path: Path, certificate: Certificate | None, env: Mapping[str, str]
) -> Iterator[str]:
    old = driver.ircd.config
    try:
        read = read_config(path)
    except CultureError as error:
        yield f"the configuration stays as it was: {error}"
        return
    try:
        authenticators = _reopen_authenticators(driver, old, read)
    except CultureError as error:
        yield f"the configuration stays as it was: {error}"
        return
    try:
        oper_passwords = read_oper_passwords(read, env)
    except CultureError as error:
        yield f"the configuration stays as it was until a restart, which loads credentials: {error}"
        return
    unchanged = _unchanged(old, read)
    for key, value in unchanged.items():
        if getattr(read, key) != value:
            yield f"'{key}' stays as it was until a restart"
    new = dataclasses.replace(read, **unchanged)
    driver.authenticators = authenticators
    driver.ircd.reconfigure(new, oper_passwords)
    update_all_kinds(driver.ircd)
    announce_offers(driver.ircd, old)
    yield from _reload_certificate(certificate, new)
    log.info("reloaded '%s'", path, extra=fields("reloaded"))
    if describe_access(new) != describe_access(old):
        log_access_policy(driver)


def _reopen_authenticators(driver: Driver, old: IrcdConfig, new: IrcdConfig) -> Authenticators:
    """Return new authenticators if the account settings changed, else the current ones."""
    return driver.authenticators if old.accounts == new.accounts else open_authenticators(new)


def _unchanged(old: IrcdConfig, new: IrcdConfig) -> dict[str, Any]:
    """Return the old values of the keys that only a restart changes."""
    unchanged = {key: getattr(old, key) for key in NEEDS_RESTART}
    if old.tls.certificate and not new.tls.certificate:
        unchanged["tls"] = old.tls
    return unchanged


def _reload_certificate(certificate: Certificate | None, config: IrcdConfig) -> Iterator[str]:
    if certificate is None:
        if config.tls.certificate:
            yield "'tls' is not used until a restart"
        return
    try:
        certificate.reload(config.tls)
    except CultureError as error:
        yield f"the certificate stays as it was: {error}"
