"""An example of an authenticator: a file maps addresses to accounts, or refuses them.

In ircd.yaml, below `accounts`: `authenticators: [user, "badges:Badges", network, password, token]`.
The server's Python must be able to import this file.
A line of badges.txt is `192.0.2.7 ori`, or `192.0.2.8 -` to refuse the address.
"""

from pathlib import Path

from culture.ircd.auth.preauth import Accepted, ConnectionAuthenticator, ConnectionInfo, Refused


class Badges(ConnectionAuthenticator):
    """Looks up the address of each connection in a file."""

    file = Path("/etc/culture/badges.txt")

    def authenticate(self, connection: ConnectionInfo) -> Accepted | Refused | None:
        lines = map(str.split, self.file.read_text().splitlines())
        badges = {words[0]: words[1] for words in lines if len(words) == 2}
        owner = badges.get(connection.address)
        if owner == "-":
            return Refused("Your address has no badge any more")
        return Accepted(owner) if owner is not None else None
