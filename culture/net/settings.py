"""ircd.yaml with the secrets that it names: read at the start, and again while the server runs."""

import dataclasses
import logging
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import CultureError
from culture.ircd.commands.negotiation import announce_offers
from culture.ircd.session import Session
from culture.names import host_from_machine
from culture.net.chain import who_may_come_in
from culture.net.driver import Driver
from culture.net.reach import is_for_others
from culture.net.tls import Certificate
from culture.systemd.credentials import read_credential
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

NEEDS_RESTART: Final = (
    *("name", "listen", "password_credential", "state_dir", "oidc"),
    *("skills", "history", "logger", "links", "mesh"),
)
"""The keys that a reload leaves as they are."""


def read_config(path: Path) -> IrcdConfig:
    config = loader.load(path, IrcdConfig)
    return dataclasses.replace(config, name=config.name or host_from_machine(socket.gethostname()))


def read_password(config: IrcdConfig, env: Mapping[str, str]) -> str:
    return read_credential(config.password_credential, env) if config.password_credential else ""


def read_oper_passwords(config: IrcdConfig, env: Mapping[str, str]) -> dict[str, str]:
    return {
        oper.name: read_credential(oper.password_credential, env)
        for oper in config.opers
        if oper.password_credential
    }


def tell_who_may_come_in(driver: Driver) -> None:
    config, kind = driver.ircd.config, fields("who-may-come-in")
    log.info("who may come in: %s", who_may_come_in(config), extra=kind)
    if not config.accounts.required and not config.password_credential:
        for address in filter(is_for_others, driver.addresses):
            log.warning(
                "whoever can reach %s may come in: neither account nor password is asked for", address
            )


def reload(
    driver: Driver,
    path: Path,
    certificate: Certificate | None,
    env: Mapping[str, str],
    operator: Session | None = None,
) -> None:
    """Takes what is new in the file. What of it is not taken is told: also to the operator who asked."""
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
        oper_passwords = read_oper_passwords(read, env)
    except CultureError as error:
        yield f"the configuration stays as it was until a restart, which loads credentials: {error}"
        return
    kept = _kept(old, read)
    for key, value in kept.items():
        if getattr(read, key) != value:
            yield f"'{key}' stays as it was until a restart"
    new = dataclasses.replace(read, **kept)
    driver.ircd.reconfigure(new, oper_passwords)
    announce_offers(driver.ircd, old)
    yield from _reload_certificate(certificate, new)
    log.info("reloaded '%s'", path, extra=fields("reloaded"))
    if who_may_come_in(new) != who_may_come_in(old):
        tell_who_may_come_in(driver)


def _kept(old: IrcdConfig, new: IrcdConfig) -> dict[str, Any]:
    """What only a restart changes, as it was."""
    kept = {key: getattr(old, key) for key in NEEDS_RESTART}
    if old.tls.certificate and not new.tls.certificate:
        kept["tls"] = old.tls
    return kept


def _reload_certificate(certificate: Certificate | None, config: IrcdConfig) -> Iterator[str]:
    if certificate is None:
        if config.tls.certificate:
            yield "'tls' is not used until a restart"
        return
    try:
        certificate.reload(config.tls)
    except CultureError as error:
        yield f"the certificate stays as it was: {error}"
