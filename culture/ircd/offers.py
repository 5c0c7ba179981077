"""The capabilities that this server offers as it is configured, with the values that CAP LS 302 shows."""

from culture.config.ircd import IrcdConfig
from culture.ircd.sasl.exchange import MECHANISMS
from culture.protocol.capabilities import Cap


def offered(config: IrcdConfig) -> dict[Cap, str]:
    values = {
        Cap.ACCOUNT_REGISTRATION: "before-connect" if may_register_before_connect(config) else "",
        Cap.SASL: ",".join(mechanisms(config)),
    }
    # STS is told and never asked for (IRCv3 sts).
    withheld = {Cap.STS} if config.accounts.registration else {Cap.STS, Cap.ACCOUNT_REGISTRATION}
    return {cap: values.get(cap, "") for cap in sorted(Cap) if cap not in withheld}


def sts_policy(config: IrcdConfig, *, is_secure: bool) -> str:
    """Where to come by TLS, or, to who did, for how long to come by nothing else; empty if there is none."""
    if not config.sts.port:
        return ""
    return f"duration={config.sts.duration_s}" if is_secure else f"port={config.sts.port}"


def mechanisms(config: IrcdConfig) -> list[str]:
    """Tokens are taken where it is said who gives them out."""
    return [name for name in MECHANISMS if name != "OAUTHBEARER" or config.oidc.keys_file]


def may_register_before_connect(config: IrcdConfig) -> bool:
    """Making an account is no way around the password of the server."""
    return not config.password_credential
