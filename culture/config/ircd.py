"""The model of `ircd.yaml`: the IRC server of this host."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, get_args

from culture.config.address import check_endpoint, check_origin, check_url, parse_endpoint
from culture.config.links import LinkConfig, MeshConfig, check_links
from culture.config.rules import (
    CHECK,
    absolute_path,
    at_least,
    checked,
    credential_name,
    each,
    none_twice,
    off_or_at_least,
)
from culture.config.skills import HistoryConfig, LoggerConfig, check_skills, is_class_name
from culture.names import is_host, is_nick

# In `people`: an account, and a Unix user of this machine.
ACCOUNT_PREFIX: Final = "account:"
UNIX_PREFIX: Final = "unix:"

# The package has a file here.
DEFAULT_MOTD_FILE: Final = "/etc/culture/motd"

# IRCv3 message-tags: a vendor may stand in front of the name.
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9./-]*")


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


def _check_admin(lines: tuple[str, ...]) -> str | None:
    return None if len(lines) <= 3 else f"has {len(lines)} lines; ADMIN tells three"


def _check_denied_tags(names: tuple[str, ...]) -> str | None:
    for number, name in enumerate(names):
        if name == "*" and number:
            return "'*' has to come first"
        if name.startswith("-") and names[0] != "*":
            return f"'{name}' makes an exception, and there is no '*' before it"
        if name != "*" and not _TAG.fullmatch(name.removeprefix("-")):
            return f"'{name}' is not the name of a tag without its '+'"
    return None


def _check_person(text: str) -> str | None:
    for prefix in (ACCOUNT_PREFIX, UNIX_PREFIX):
        if text.startswith(prefix) and len(text) > len(prefix):
            return None
    return f"'{text}' is neither account:NAME nor unix:USER; a nick does not prove who somebody is"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client and one address may use."""

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
    metadata_keys: int = checked(at_least(0), default=50)
    metadata_subscriptions: int = checked(at_least(0), default=50)
    metadata_value_length: int = checked(at_least(1), default=220)
    metadata_changes_per_min: int = checked(at_least(0), default=120)
    multiline_length: int = checked(at_least(512), default=16384)
    multiline_lines: int = checked(at_least(0), default=100)
    multiline_timeout_s: int = checked(at_least(0), default=60)
    sendq_bytes: int = checked(off_or_at_least(16384), default=1048576)
    login_failures: int = checked(at_least(0), default=10)
    login_backoff_s: int = checked(at_least(0), default=20)
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


Privilege = Literal["chghost", "halt", "kill", "link", "rehash", "relaymsg", "wallops"]


@dataclass(frozen=True, slots=True)
class OperConfig:
    """An operator. A client must match everything that is set."""

    name: str
    account: str = ""
    password_credential: str = checked(credential_name, default="")
    privileges: tuple[Privilege, ...] = ("chghost", "halt", "kill", "link", "rehash", "relaymsg", "wallops")

    def __post_init__(self) -> None:
        if not self.account and not self.password_credential:
            raise ValueError(f"operator '{self.name}' needs 'account', 'password_credential' or both")


def _check_opers(opers: tuple[OperConfig, ...]) -> str | None:
    return none_twice([oper.name for oper in opers])


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """The OpenID Connect provider whose tokens log in. Without its keys, no token is accepted."""

    keys_file: str = ""
    keys_url: str = checked(check_url, default="")
    issuer: str = ""
    audience: str = ""
    account_claim: str = "preferred_username"

    def __post_init__(self) -> None:
        if self.keys_file and self.keys_url:
            raise ValueError("'keys_file' and 'keys_url' cannot both be set")
        if self.is_used and not (self.issuer and self.audience):
            key = "keys_file" if self.keys_file else "keys_url"
            raise ValueError(f"'{key}' needs 'issuer' and 'audience' too")

    @property
    def is_used(self) -> bool:
        """Return whether tokens can log in."""
        return bool(self.keys_file or self.keys_url)


AuthenticatorName = Literal["user", "network", "certificate", "password", "token"]
AUTHENTICATORS: Final[tuple[str, ...]] = get_args(AuthenticatorName)


def _check_authenticators(names: tuple[str, ...]) -> str | None:
    for name in names:
        if name not in AUTHENTICATORS and not is_class_name(name):
            known = ", ".join(AUTHENTICATORS)
            return f"expected one of {known}, or a class of yours as 'module:Class', found '{name}'"
    return none_twice(names)


def _check_local_users(users: dict[str, str]) -> str | None:
    wrong = next((account for account in users.values() if not is_nick(account)), None)
    return f"'{wrong}' is not a name for an account" if wrong is not None else None


@dataclass(frozen=True, slots=True)
class AccountsConfig:
    """Accounts, registration and reserved nicks."""

    # Who is asked who somebody is, in this order; each only once it has what it needs.
    # A class of the operator's own stands there as module:Class.
    authenticators: tuple[str, ...] = checked(_check_authenticators, default=AUTHENTICATORS)
    # Users of this machine and the accounts that they are logged in to when they come by a unix socket.
    local_users: dict[str, str] = field(
        default_factory=dict, hash=False, metadata={CHECK: _check_local_users}
    )
    # Whether clients may make accounts for themselves.
    registration: bool = False
    # Whether they may do so before they are connected (draft/account-registration=before-connect).
    registration_before_connect: bool = True
    # Whether who makes an account has to give an address for e-mail, which the journal then has.
    email_required: bool = False
    # Whether only who logged in may register a connection.
    required: bool = False
    # Whether the nicks of an account that exists are for who logged in to it.
    reserve_nicks: bool = True
    # Where nobody needs to, all the same: `unix`, or networks.
    trusted: tuple[str, ...] = checked(each(check_origin), default=())

    def __post_init__(self) -> None:
        if self.required and not self.authenticators:
            raise ValueError("'required' without any of the 'authenticators' lets nobody in")
        if self.registration and "password" not in self.authenticators:
            raise ValueError("'registration' needs 'password' among the 'authenticators'")


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate of the server."""

    certificate: str = checked(absolute_path, default="")
    # Empty: in the same file as the certificate.
    key: str = checked(absolute_path, default="")
    client_certificates: str = checked(absolute_path, default="")


@dataclass(frozen=True, slots=True)
class Sts:
    """The IRCv3 STS policy, which makes clients use TLS."""

    # 0: clients are not told to use TLS.
    port: int = checked(_check_port, default=0)
    duration_s: int = checked(at_least(0), default=0)


@dataclass(frozen=True, slots=True)
class IrcdConfig:
    """Everything in ircd.yaml."""

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
    # Read where `motd` is empty. At the default there need not be a file.
    motd_file: str = checked(absolute_path, default=DEFAULT_MOTD_FILE)
    # Where the server is, who runs it, and how to reach them.
    admin: tuple[str, ...] = checked(_check_admin, default=())
    # Tags of clients that are not passed on, in the form of CLIENTTAGDENY.
    denied_client_tags: tuple[str, ...] = checked(_check_denied_tags, default=())
    password_credential: str = checked(credential_name, default="")
    state_dir: str = ""
    opers: tuple[OperConfig, ...] = checked(_check_opers, default=())
    accounts: AccountsConfig = field(default_factory=AccountsConfig)
    # Who is a person, and so may decide for agents: accounts and Unix users of this machine, as masks.
    people: tuple[str, ...] = checked(each(_check_person), default=("account:*", "unix:*"))
    oidc: OidcConfig = field(default_factory=OidcConfig)
    links: tuple[LinkConfig, ...] = checked(check_links, default=())
    mesh: MeshConfig = field(default_factory=MeshConfig)
    skills: tuple[str, ...] = checked(check_skills, default=("history", "profiles", "urlindex"))
    history: HistoryConfig = field(default_factory=HistoryConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        wanting = [text for text in self.listen if parse_endpoint(text).carrier.is_tls]
        if wanting and not self.tls.certificate:
            raise ValueError(f"'tls.certificate' is missing, and 'listen' has '{wanting[0]}'")
        if self.links and self.nick_policy != "prefixed":
            raise ValueError("'links' needs 'nick_policy: prefixed': a nick is of one host")

    @property
    def names_unix_users(self) -> bool:
        """Return whether `people` names single Unix users, so that they have to be known also by TCP."""
        return any(who.startswith(UNIX_PREFIX) and "*" not in who for who in self.people)


# The passwords of a server without operators.
NO_PASSWORDS: Final[Mapping[str, str]] = MappingProxyType({})
