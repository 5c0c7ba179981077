"""Parse the addresses of servers: `host:port`, `[v6]:port` and `unix:/path`, with an optional carrier."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_TCP = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host name or IP address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """The path of a unix socket."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


Address = TcpAddress | UnixAddress


@dataclass(frozen=True, slots=True)
class Carrier:
    """The protocol that carries IRC on an address."""

    is_tls: bool = False
    is_websocket: bool = False


PLAIN = Carrier()
# By what stands in front of an address in `listen`; nothing in front is plain IRC.
CARRIERS = {
    "tls": Carrier(is_tls=True),
    "ws": Carrier(is_websocket=True),
    "wss": Carrier(is_tls=True, is_websocket=True),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and its carrier."""

    address: Address
    carrier: Carrier = PLAIN


def parse_address(text: str) -> Address:
    """Parse an address. Raise ValueError with a text for people."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        # sockaddr_un holds 108 bytes, one of them the closing NUL.
        if not path.startswith("/") or len(path.encode()) > 107:
            raise ValueError(f"'{text}' needs an absolute path of at most 107 bytes after 'unix:'")
        return UnixAddress(path)
    found = _TCP.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise ValueError(f"'{text}' is neither host:port nor unix:/path")
    host = found["v6"] or found["host"]
    try:
        # As whoever looks it up will: an empty or over-long label is not even asked for.
        host.encode("idna")
    except UnicodeError:
        raise ValueError(f"'{host}' is not the name of a host") from None
    return TcpAddress(host, int(found["port"]))


def check_address(text: str) -> str | None:
    """Return what is wrong with an address, or None."""
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def parse_endpoint(text: str) -> Endpoint:
    """Parse an address with an optional `tls:`, `ws:` or `wss:`. Raise ValueError with a text for people."""
    word, _, rest = text.partition(":")
    # Without a second colon it is a host that happens to have such a name.
    if word in CARRIERS and ":" in rest:
        return Endpoint(parse_address(rest), CARRIERS[word])
    return Endpoint(parse_address(text))


def check_endpoint(text: str) -> str | None:
    """Return what is wrong with an endpoint, or None."""
    try:
        parse_endpoint(text)
    except ValueError as error:
        return str(error)
    return None


def check_origin(text: str) -> str | None:
    """Return what is wrong with `unix` or a network, or None."""
    if text == "unix":
        return None
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return f"'{text}' is neither 'unix' nor a network such as 10.0.0.0/8 or fd00::/8"
    return None


def check_url(text: str) -> str | None:
    """Return what is wrong with a URL that must be HTTPS or on loopback, or None. Empty is allowed."""
    if not text:
        return None
    try:
        url = urlsplit(text)
        is_safe = url.scheme == "https" or (url.scheme == "http" and _is_this_machine(url.hostname or ""))
        is_whole = bool(url.hostname) and (url.port is None or url.port > 0) and "@" not in url.netloc
    except ValueError as error:
        return f"'{text}' is no URL: {error}"
    return None if is_safe and is_whole else f"'{text}' is neither https://… nor http://… on this machine"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
