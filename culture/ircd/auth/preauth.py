"""Pre-authentication: custom authenticators that decide about a connection before it sends a line.

Name a class in `accounts.authenticators` as `module:Class`. The server makes one object of it, with its
configuration, and calls `authenticate(connection)` in a thread for every connection that those before it in
the list do not know:

    class Badge(ConnectionAuthenticator):
        def authenticate(self, connection):
            if connection.address == "192.0.2.7":
                return Accepted("ori")
            return None
"""

from __future__ import annotations

from dataclasses import dataclass

from culture.config.ircd import IrcdConfig


@dataclass(frozen=True, slots=True)
class ConnectionInfo:
    """What the server knows of a connection before it sends a line."""

    # Empty for a unix socket.
    address: str
    port: int
    # Whether the client is on this machine.
    is_local: bool
    # Whether the connection uses TLS.
    is_secure: bool
    # SHA-256 of the client's certificate in hexadecimal; empty if it showed none.
    fingerprint: str
    # The Unix user at the other end, if the kernel told it.
    uid: int | None
    unix_user: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The connection need not log in. If an account is named, it is logged in to that account."""

    account: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The connection is closed, and its client is told why."""

    reason: str


class ConnectionAuthenticator:
    """Base class of custom authenticators. An exception in `authenticate` refuses the connection."""

    def __init__(self, config: IrcdConfig) -> None:
        self.config = config

    def authenticate(self, connection: ConnectionInfo) -> Accepted | Refused | None:
        """Accept or refuse a connection; return None to leave it to the next authenticator.

        This runs in any thread and may block.
        """
        raise NotImplementedError
