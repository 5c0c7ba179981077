"""The capabilities that this server offers as it is configured, with the values that CAP LS 302 shows."""

from typing import Final

from culture.config.ircd import IrcdConfig, Limits
from culture.ircd.model.metadata import KEY_BYTES, value_bytes
from culture.ircd.sasl.exchange import MECHANISMS
from culture.names import RELAY_SEPARATORS
from culture.protocol.capabilities import Cap

# These are offered where a skill is there that makes good on them.
OF_SKILLS: Final = frozenset({Cap.CHATHISTORY, Cap.EVENT_PLAYBACK, Cap.MESSAGE_REDACTION})


def offered(config: IrcdConfig, by_skills: frozenset[Cap] = frozenset()) -> dict[Cap, str]:
    """Return the capabilities that the server offers to a client, with their values."""
    values = {
        Cap.ACCOUNT_REGISTRATION: _registration_policy(config),
        Cap.METADATA: _metadata_limits(config.limits),
        Cap.METADATA_2: _metadata_limits(config.limits),
        Cap.MULTILINE: _multiline_limits(config.limits),
        Cap.RELAYMSG: RELAY_SEPARATORS,
        Cap.SASL: ",".join(mechanisms(config)),
    }
    # STS is told and never asked for (IRCv3 sts).
    withheld = {Cap.STS} if config.accounts.registration else {Cap.STS, Cap.ACCOUNT_REGISTRATION}
    withheld |= OF_SKILLS - by_skills
    if not values[Cap.SASL]:
        withheld.add(Cap.SASL)
    return {cap: values.get(cap, "") for cap in sorted(Cap) if cap not in withheld}


def _registration_policy(config: IrcdConfig) -> str:
    keys = {
        "before-connect": may_register_before_connect(config),
        "email-required": config.accounts.email_required,
    }
    return ",".join(key for key, is_set in keys.items() if is_set)


def sts_policy(config: IrcdConfig, *, is_secure: bool) -> str:
    """Return the STS policy: the TLS port for a plain connection, the duration for a TLS one."""
    if not config.sts.port:
        return ""
    return f"duration={config.sts.duration_s}" if is_secure else f"port={config.sts.port}"


def _metadata_limits(limits: Limits) -> str:
    most = {"max-subs": limits.metadata_subscriptions, "max-keys": limits.metadata_keys}
    told = [f"{name}={limit}" for name, limit in most.items() if limit]
    sizes = [f"max-key-bytes={KEY_BYTES}", f"max-value-bytes={value_bytes(limits)}"]
    return ",".join(["before-connect", *told, *sizes])


def _multiline_limits(limits: Limits) -> str:
    most_lines = f",max-lines={limits.multiline_lines}" if limits.multiline_lines else ""
    return f"max-bytes={limits.multiline_length}{most_lines}"


def mechanisms(config: IrcdConfig) -> list[str]:
    """Return the SASL mechanisms whose authenticators are configured and have what they need."""
    useless = {"token": not config.oidc.is_used, "certificate": not config.tls.client_certificates}
    chosen = [name for name in config.accounts.authenticators if not useless.get(name)]
    return [name for name, (authenticator, _) in MECHANISMS.items() if authenticator in chosen]


def may_register_before_connect(config: IrcdConfig) -> bool:
    """Making an account is no way around the password of the server."""
    return config.accounts.registration_before_connect and not config.password_credential
