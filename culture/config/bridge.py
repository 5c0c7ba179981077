"""Model of bridge.yaml: where the MCP bridge listens, and which clients may speak as whom."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from culture.config.address import Address, TcpAddress, check_address, check_url, parse_address
from culture.config.agents import ServerConfig
from culture.config.ircd import OidcConfig
from culture.config.rules import absolute_path, at_least, checked, credential_name, each, none_twice
from culture.errors import ConfigError, Problem
from culture.names import is_channel, is_nick

# The path of the MCP endpoint.
MCP_PATH: Final = "/mcp"
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _check_nick(nick: str) -> str | None:
    return None if not nick or is_nick(nick) else f"'{nick}' is not a nick"


def _check_name(name: str) -> str | None:
    return None if _NAME.fullmatch(name) else f"'{name}' is not a name: letters, digits, '_', '-' and '.'"


def _check_hash(text: str) -> str | None:
    if not text or _HASH.fullmatch(text):
        return None
    return "is not the SHA-256 of a token: 64 characters, which culture-bridge --new-token prints"


def _check_channel(name: str) -> str | None:
    return None if is_channel(name) else f"'{name}' is not a channel: write it as \"#name\", in quotes"


def _check_endpoint(url: str) -> str | None:
    if wrong := check_url(url):
        return wrong
    if url and (urlsplit(url).path != MCP_PATH or urlsplit(url).query or urlsplit(url).fragment):
        return f"'{url}' does not end with {MCP_PATH}"
    return None


def _check_network(text: str) -> str | None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return f"'{text}' is not a network such as 10.0.0.5/32 or fd00::/8"
    return None


def _check_clients(clients: Sequence["BridgeClient"]) -> str | None:
    if wrong := none_twice([client.name for client in clients]):
        return wrong
    if none_twice([client.token_sha256 for client in clients if client.token_sha256]):
        return "two clients have the same token"
    if wrong := none_twice([client.subject for client in clients if client.subject]):
        return f"subject {wrong}"
    return None


@dataclass(frozen=True, slots=True)
class BridgeClient:
    """A program or person that may use the bridge."""

    # For the journal; nobody sees it on IRC.
    name: str = checked(_check_name)
    # The nick that it speaks as.
    nick: str = checked(_check_nick)
    # The SHA-256 of its token, in hexadecimal; empty: it has none.
    token_sha256: str = checked(_check_hash, default="")
    # Whom an OAuth token must name for this client; empty: nobody.
    subject: str = ""
    # Other nicks that it may speak as, as masks.
    speak_as: tuple[str, ...] = ()
    # The channels that it may use, as masks.
    channels: tuple[str, ...] = ("*",)
    # What it may do with the wiki.
    wiki: Literal["none", "read", "write"] = "write"
    # The account that its nick logs in to; empty: the nick.
    account: str = ""
    # The name of the credential that holds the account's password; empty: it does not log in.
    account_credential: str = checked(credential_name, default="")

    def __post_init__(self) -> None:
        if not self.nick:
            raise ValueError(f"client '{self.name}' has no nick")
        if not self.token_sha256 and not self.subject:
            raise ValueError(f"client '{self.name}' needs 'token_sha256' or 'subject'")


@dataclass(frozen=True, slots=True)
class BridgeTls:
    """The certificate of the bridge, for all its listeners."""

    certificate: str = checked(absolute_path, default="")
    key: str = checked(absolute_path, default="")


@dataclass(frozen=True, slots=True)
class BridgeLimits:
    """How much clients may ask for."""

    # Of one client in the long run, and at once; more are refused.
    requests_per_s: int = checked(at_least(1), default=4)
    request_burst: int = checked(at_least(1), default=60)
    # Of all clients at the same time.
    concurrent_requests: int = checked(at_least(1), default=64)
    # Of one HTTP request.
    request_bytes: int = checked(at_least(1024), default=1048576)


@dataclass(frozen=True, slots=True)
class BridgeConfig:
    server: ServerConfig = field(default_factory=ServerConfig)
    # The bridge's own nick; empty: `bridge`, behind the name of the server if that is given.
    nick: str = checked(_check_nick, default="")
    account: str = ""
    account_credential: str = checked(credential_name, default="")
    # The channels that it is in from the start.
    channels: tuple[str, ...] = checked(each(_check_channel), default=())
    listen: tuple[str, ...] = checked(each(check_address), default=("127.0.0.1:8090",))
    # How clients reach it, ending with /mcp; empty: the first address above.
    url: str = checked(_check_endpoint, default="")
    tls: BridgeTls = field(default_factory=BridgeTls)
    # The proxies that may connect from other machines without TLS, as networks.
    trusted_proxies: tuple[str, ...] = checked(each(_check_network), default=())
    # Who issues OAuth tokens for the clients with a `subject`.
    oauth: OidcConfig = field(default_factory=OidcConfig)
    # The directory of the wiki's git repository; empty: wiki.git in the state directory.
    wiki: str = checked(absolute_path, default="")
    state_dir: str = checked(absolute_path, default="")
    limits: BridgeLimits = field(default_factory=BridgeLimits)
    clients: tuple[BridgeClient, ...] = checked(_check_clients, default=())

    def __post_init__(self) -> None:
        if not self.listen and not self.url:
            raise ValueError("'listen' is empty, so 'url' has to be set")
        if self.oauth.is_used and self.oauth.audience != self.public_url:
            raise ValueError(f"'oauth.audience' must be the URL of the bridge, {self.public_url}")

    @property
    def public_url(self) -> str:
        """Return the URL of the MCP endpoint, which tokens are issued for."""
        if self.url:
            return self.url
        address = parse_address(self.listen[0])
        scheme = "https" if self.tls.certificate else "http"
        place = str(address) if isinstance(address, TcpAddress) else "localhost"
        return f"{scheme}://{place}{MCP_PATH}"

    @property
    def own_nick(self) -> str:
        """Return the nick of the bridge itself."""
        return self.nick or (f"{self.server.name}-bridge" if self.server.name else "bridge")


def check_exposure(config: BridgeConfig, addresses: Sequence[Address], where: str) -> None:
    """Raise ConfigError if nobody could use the bridge, or if other machines reach it without protection."""
    problems = []
    if not config.clients:
        hint = "culture-bridge --new-token prints a token and what to write into 'clients'"
        problems.append(Problem(where, "no clients are configured, so nobody could use the bridge", hint))
    for address in addresses:
        if _is_for_others(address) and not (config.tls.certificate or config.trusted_proxies):
            what = f"other machines can reach {address}, and their tokens would travel unencrypted"
            hint = (
                "set tls.certificate, or trusted_proxies for a proxy that speaks TLS, or listen on 127.0.0.1"
            )
            problems.append(Problem(where, what, hint))
    if problems:
        raise ConfigError(problems)


def _is_for_others(address: Address) -> bool:
    if not isinstance(address, TcpAddress):
        return False
    try:
        return not ipaddress.ip_address(address.host.partition("%")[0]).is_loopback
    except ValueError:
        return address.host != "localhost"
