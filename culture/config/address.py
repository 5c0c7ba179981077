"""Where a server listens or is reached: `host:port`, `[v6]:port` or `unix:/path`."""

import re
from dataclasses import dataclass

_TCP = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class TcpAddress:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


Address = TcpAddress | UnixAddress


def parse_address(text: str) -> Address:
    """Raises ValueError with words for a person."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        # sockaddr_un holds 108 bytes, one of them the closing NUL.
        if not path.startswith("/") or len(path.encode()) > 107:
            raise ValueError(f"'{text}' needs an absolute path of at most 107 bytes after 'unix:'")
        return UnixAddress(path)
    found = _TCP.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise ValueError(f"'{text}' is neither host:port nor unix:/path")
    return TcpAddress(found["v6"] or found["host"], int(found["port"]))


def check_address(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None
