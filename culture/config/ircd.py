"""What `ircd.yaml` says: the IRC server of this host."""

import ipaddress
from dataclasses import dataclass, field
from typing import Literal

from culture.config.address import check_endpoint, parse_endpoint
from culture.config.rules import at_least, checked, each, off_or_at_least
from culture.names import is_host


def _check_name(name: str) -> str | None:
    if not name or (is_host(name) and len(name) <= 63):
        return None
    return f"'{name}' is not a host name: a letter, then letters and digits, no dash before the first dot"


def _check_port(port: int) -> str | None:
    return None if 0 <= port < 65536 else f"must be between 0 and 65535, is {port}"


def _check_network(text: str) -> str | None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        return str(error)
    return None


def _check_file(path: str) -> str | None:
    return None if not path or path.startswith("/") else f"'{path}' is not an absolute path"


def _check_admin(lines: tuple[str, ...]) -> str | None:
    return None if len(lines) <= 3 else f"has {len(lines)} lines; ADMIN tells three"


@dataclass(frozen=True, slots=True)
class Limits:
    nick_length: int = checked(at_least(9), default=64)
    channel_length: int = checked(at_least(9), default=64)
    topic_length: int = checked(at_least(1), default=390)
    away_length: int = checked(at_least(1), default=390)
    realname_length: int = checked(at_least(1), default=150)
    kick_length: int = checked(at_least(1), default=390)
    channels_per_client: int = checked(at_least(0), default=100)
    list_entries: int = checked(at_least(0), default=100)
    targets: int = checked(at_least(0), default=8)
    monitored_nicks: int = checked(at_least(0), default=100)
    sendq_bytes: int = checked(off_or_at_least(16384), default=1048576)
    login_failures: int = checked(at_least(0), default=10)
    registration_timeout_s: int = checked(at_least(0), default=30)
    ping_interval_s: int = checked(at_least(0), default=90)
    ping_timeout_s: int = checked(at_least(0), default=60)
    clients: int = checked(at_least(0), default=20000)
    clients_per_address: int = checked(at_least(0), default=64)
    local_clients: int = checked(at_least(0), default=0)
    unregistered_clients: int = checked(at_least(0), default=1024)
    rate_lines_per_s: int = checked(at_least(0), default=20)
    burst_lines: int = checked(at_least(0), default=200)
    local_rate_lines_per_s: int = checked(at_least(0), default=5000)
    local_burst_lines: int = checked(at_least(0), default=2000)


def check_origin(text: str) -> str | None:
    """What is wrong with `unix` or a network, or None."""
    if text == "unix":
        return None
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return f"'{text}' is neither 'unix' nor a network such as 10.0.0.0/8 or fd00::/8"
    return None


Privilege = Literal["kill", "rehash", "wallops"]


@dataclass(frozen=True, slots=True)
class OperConfig:
    """Somebody who may do more. All that is set has to fit."""

    name: str
    account: str = ""
    password_credential: str = ""
    privileges: tuple[Privilege, ...] = ("kill", "rehash", "wallops")

    def __post_init__(self) -> None:
        if not self.account and not self.password_credential:
            raise ValueError(f"operator '{self.name}' needs 'account', 'password_credential' or both")


def _check_opers(opers: tuple[OperConfig, ...]) -> str | None:
    names = [oper.name for oper in opers]
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"'{twice}' stands twice" if twice is not None else None


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """Who gives out tokens that log in. Without a file of keys nobody does."""

    keys_file: str = ""
    issuer: str = ""
    audience: str = ""
    account_claim: str = "preferred_username"

    def __post_init__(self) -> None:
        if self.keys_file and not (self.issuer and self.audience):
            raise ValueError("'keys_file' needs 'issuer' and 'audience' too")


@dataclass(frozen=True, slots=True)
class AccountsConfig:
    # Whether clients may make accounts for themselves.
    registration: bool = False
    # Whether only who logged in may register a connection.
    required: bool = False
    # Whether a nick that is the name of an account is for who logged in to it.
    reserve_nicks: bool = False
    # Where nobody needs to, all the same: `unix`, or networks.
    trusted: tuple[str, ...] = checked(each(check_origin), default=())


@dataclass(frozen=True, slots=True)
class Tls:
    certificate: str = checked(_check_file, default="")
    # Empty: in the same file as the certificate.
    key: str = checked(_check_file, default="")
    client_certificates: str = checked(_check_file, default="")


@dataclass(frozen=True, slots=True)
class Sts:
    # 0: clients are not told to use TLS.
    port: int = checked(_check_port, default=0)
    duration_s: int = checked(at_least(0), default=0)


@dataclass(frozen=True, slots=True)
class IrcdConfig:
    # Empty: made of the machine's own host name.
    name: str = checked(_check_name, default="")
    description: str = "Culture IRC server"
    listen: tuple[str, ...] = checked(each(check_endpoint), default=("127.0.0.1:6667",))
    tls: Tls = field(default_factory=Tls)
    sts: Sts = field(default_factory=Sts)
    websocket_origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = checked(each(_check_network), default=())
    nick_policy: Literal["prefixed", "open"] = "prefixed"
    motd: str = ""
    # Where the server is, who runs it, and how to reach them.
    admin: tuple[str, ...] = checked(_check_admin, default=())
    password_credential: str = ""
    state_dir: str = ""
    opers: tuple[OperConfig, ...] = checked(_check_opers, default=())
    accounts: AccountsConfig = field(default_factory=AccountsConfig)
    oidc: OidcConfig = field(default_factory=OidcConfig)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        wanting = [text for text in self.listen if parse_endpoint(text).carrier.is_tls]
        if wanting and not self.tls.certificate:
            raise ValueError(f"'tls.certificate' is missing, and 'listen' has '{wanting[0]}'")
