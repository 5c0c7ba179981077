"""The model of links in `ircd.yaml`: the other hosts, how to reach them, and what may cross a link."""

import ipaddress
import re
from collections.abc import Mapping
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
from culture.errors import ConfigError, Problem
from culture.names import fold, is_channel, is_host, nick_prefix

# In `leads_to`: as topology and the hosts themselves say.
ANY_HOST: Final = "*"

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")
_OWN_SECRET: Final = "each link needs one of its own"


def plain_fingerprint(text: str) -> str:
    """Return a fingerprint in lower case without colons, however `openssl x509 -fingerprint` writes it."""
    return text.replace(":", "").lower()


def _check_fingerprint(text: str) -> str | None:
    if not text or _FINGERPRINT.fullmatch(plain_fingerprint(text)):
        return None
    return f"'{text}' is not the SHA-256 of a certificate: 64 hexadecimal digits, with colons or without"


def _check_secret(name: str) -> str | None:
    return credential_name(name) if name else "is empty: links need a secret"


def check_link_address(text: str) -> str | None:
    """Return what is wrong with the address of a link, or None."""
    if not text:
        return None
    wrong = check_endpoint(text)
    if wrong is None and parse_endpoint(text).carrier.is_websocket:
        wrong = f"'{text}': links use no WebSocket"
    return wrong


def _check_led_to(name: str) -> str | None:
    return None if name == ANY_HOST or is_host(name) else f"'{name}' is neither a host name nor '*'"


def is_private(host: str) -> bool:
    """Return whether an address belongs to this machine or to a private network."""
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_global
    except ValueError:
        # A name is looked at once it is known what it stands for.
        return True


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine. The addresses of a name are checked when it is resolved."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def _is_loopback_network(text: str) -> bool:
    return text == "unix" or ipaddress.ip_network(text).is_loopback


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """A link to another host, which has a name and a secret that both sides know."""

    name: str = checked(lambda name: None if is_host(name) else f"'{name}' is not a host name")
    secret_credential: str = checked(_check_secret)
    # Empty: it comes to us.
    address: str = checked(check_link_address, default="")
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
    # The hosts that it may speak for, besides itself. `*`: those that are not configured here, and those that
    # named it themselves; empty: none.
    leads_to: tuple[str, ...] = checked(each(_check_led_to), default=(ANY_HOST,))
    # Whether its people are people here too, and whether it may halt agents here. Of no effect on a link that
    # `channels` limits.
    trusted: bool = True
    insecure: bool = False
    # Whether the secret itself is sent (PASS), as hosts do that know no challenge-response.
    plain_secret: bool = False

    def __post_init__(self) -> None:
        if self.plain_secret and not self._may_say_secret:
            raise ValueError(
                f"'plain_secret' of link '{self.name}' would send the secret where others can read it: "
                "it needs an 'address' on loopback, or one with tls: and 'fingerprint'; without 'address', "
                "'accept_fingerprint', or only loopback in 'accept_from'"
            )
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
    def is_believed(self) -> bool:
        """Return whether the host is believed about who is a person: the link is full and trusted."""
        return self.trusted and not self.channels

    @property
    def endpoint(self) -> Endpoint | None:
        """Return the endpoint that the link connects to."""
        return parse_endpoint(self.address) if self.address else None

    def may_reach(self, host: str) -> bool:
        """Return whether the link may use this address: a private one, or TLS, or `insecure`."""
        if self.plain_secret and not self.is_tls:
            return not host or is_loopback(host)
        return self.insecure or is_private(host) or self.is_tls

    @property
    def _may_say_secret(self) -> bool:
        """Whether the secret itself reaches nobody but the other host, however the link is made."""
        if not self.address:
            is_near = bool(self.accept_from) and all(map(_is_loopback_network, self.accept_from))
            return is_near or bool(self.accept_fingerprint)
        return bool(self.fingerprint) if self.is_tls else not self._host or is_loopback(self._host)

    @property
    def is_tls(self) -> bool:
        """Return whether the link uses TLS."""
        return self.endpoint is not None and self.endpoint.carrier.is_tls

    @property
    def _host(self) -> str:
        """As it is written; a unix socket has none."""
        address = self.endpoint.address if self.endpoint is not None else None
        return address.host if isinstance(address, TcpAddress) else ""


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """The settings of all links together."""

    # How long a host may be away before its users are gone for those of other hosts.
    split_after_s: int = checked(at_least(0), default=5)
    ping_interval_s: int = checked(at_least(1), default=5)
    ping_timeout_s: int = checked(at_least(1), default=10)
    # Whether peers are believed about what was said on this host before, without a proof. For a host that
    # lost its state directory, until everything is back.
    believe_past: bool = False


def check_links(links: tuple[LinkConfig, ...]) -> str | None:
    """Return what is wrong with the links: no two may share a nick prefix or a secret."""
    prefixes = [fold(nick_prefix(link.name)).removesuffix("-") for link in links]
    return none_twice(prefixes) or _same_credential(links)


def _same_credential(links: tuple[LinkConfig, ...]) -> str | None:
    names: dict[str, str] = {}
    for link in links:
        if (other := names.setdefault(link.secret_credential, link.name)) != link.name:
            credential = f"'secret_credential: {link.secret_credential}'"
            return f"links '{other}' and '{link.name}' both have {credential}: {_OWN_SECRET}"
    return None


def secrets_in(text: str) -> tuple[str, ...]:
    """Return the secrets in a credential, one per line.

    The first one is used. While it is being replaced, the other host may prove the others as well.
    """
    return tuple(line for line in text.splitlines() if line)


def check_secrets(secrets: Mapping[str, str]) -> None:
    """Check the secrets in the credentials, by the names of the links. Raise ConfigError.

    A host that knows the secret of two links can impersonate the host at the other end of each.
    """
    empty = [name for name, text in secrets.items() if not secrets_in(text)]
    problems = [Problem("links", f"the secret of link '{name}' is empty") for name in empty]
    known: dict[str, str] = {}
    for name, secret in [(name, secret) for name, text in secrets.items() for secret in secrets_in(text)]:
        if (other := known.setdefault(secret, name)) != name:
            hint = f"head -c 32 /dev/urandom | base64 > /etc/culture/credentials/{name}"
            what = f"links '{other}' and '{name}' have the same secret: {_OWN_SECRET}"
            problems.append(Problem("links", what, hint))
    if problems:
        raise ConfigError(problems)
