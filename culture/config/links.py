"""What `ircd.yaml` says about links: the other hosts, how they are reached, and what may cross."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from culture.config.address import (
    Endpoint,
    TcpAddress,
    check_endpoint,
    check_origin,
    parse_endpoint,
)
from culture.config.rules import absolute_path, at_least, checked, credential_name, each, none_twice
from culture.names import fold, is_channel, is_host, nick_prefix

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")


def plain_fingerprint(text: str) -> str:
    """As certificates are known by here: `openssl x509 -fingerprint` writes it with colons, and large."""
    return text.replace(":", "").lower()


def _check_fingerprint(text: str) -> str | None:
    if not text or _FINGERPRINT.fullmatch(plain_fingerprint(text)):
        return None
    return f"'{text}' is not the SHA-256 of a certificate: 64 hexadecimal digits, with colons or without"


def _check_secret(name: str) -> str | None:
    return credential_name(name) if name else "is empty: links need a secret"


def _check_link_address(text: str) -> str | None:
    if not text:
        return None
    wrong = check_endpoint(text)
    if wrong is None and parse_endpoint(text).carrier.is_websocket:
        wrong = f"'{text}': links use no WebSocket"
    return wrong


def is_private(host: str) -> bool:
    """Whether an address is of this machine or of a network that is not the open one."""
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_global
    except ValueError:
        # A name is looked at once it is known what it stands for.
        return True


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """Another host, known by its name and a secret that both sides have."""

    name: str = checked(lambda name: None if is_host(name) else f"'{name}' is not a host name")
    secret_credential: str = checked(_check_secret)
    # Empty: it comes to us.
    address: str = checked(_check_link_address, default="")
    # Whether the connection is made by itself, and again whenever it is lost.
    autoconnect: bool = True
    # The certificate that it has to show, or who signed it. Neither: an authority that this machine knows.
    fingerprint: str = checked(_check_fingerprint, default="")
    ca: str = checked(absolute_path, default="")
    # What has to be true of it when it comes to us, besides the secret.
    accept_from: tuple[str, ...] = checked(each(check_origin), default=())
    accept_fingerprint: str = checked(_check_fingerprint, default="")
    # Empty: all that is not local.
    channels: tuple[str, ...] = checked(
        each(lambda name: None if is_channel(name) else f"'{name}' is not a channel"), default=()
    )
    insecure: bool = False

    def __post_init__(self) -> None:
        if (self.fingerprint or self.ca) and not self.is_tls:
            key = "fingerprint" if self.fingerprint else "ca"
            raise ValueError(f"'{key}' of link '{self.name}' needs an 'address' with tls: in front")
        if self.fingerprint and self.ca:
            raise ValueError(f"'fingerprint' and 'ca' of link '{self.name}' cannot both be set")
        if not self.may_reach(self._host):
            raise ValueError(
                f"link '{self.name}' to '{self.address}' would be readable on the way: "
                f"put tls: in front of the address, or say 'insecure: true'"
            )

    @property
    def endpoint(self) -> Endpoint | None:
        return parse_endpoint(self.address) if self.address else None

    def may_reach(self, host: str) -> bool:
        """Whether what is said may go to this address: it is private, or has TLS, or need not be safe."""
        return self.insecure or is_private(host) or self.is_tls

    @property
    def is_tls(self) -> bool:
        return self.endpoint is not None and self.endpoint.carrier.is_tls

    @property
    def _host(self) -> str:
        """As it is written; a unix socket has none."""
        address = self.endpoint.address if self.endpoint is not None else None
        return address.host if isinstance(address, TcpAddress) else ""


@dataclass(frozen=True, slots=True)
class MeshConfig:
    # How long a host may be away before its users are gone for those of other hosts.
    split_after_s: int = checked(at_least(0), default=5)
    ping_interval_s: int = checked(at_least(1), default=5)
    ping_timeout_s: int = checked(at_least(1), default=10)


def check_links(links: tuple[LinkConfig, ...]) -> str | None:
    """Nicks begin with the first part of a host's name, so no two may have the same."""
    return none_twice([fold(nick_prefix(link.name)).removesuffix("-") for link in links])
