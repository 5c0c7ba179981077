"""SASL PLAIN (RFC 4616): name and password as they are."""

from culture.ircd.sasl.step import Ask, SaslFailure, Step, decoded, logged_in
from culture.names import fold


class Plain:
    """SASL PLAIN: the client sends its password."""

    def __init__(self) -> None:
        self.claimed = ""

    def respond(self, response: bytes) -> Step:
        name, password = parse_plain(response)
        self.claimed = name
        return Ask(lambda authenticator: authenticator.check_password(name, password), logged_in)


def parse_plain(response: bytes) -> tuple[str, str]:
    """`[authzid] NUL authcid NUL passwd`. Nobody acts for another, so the first two are one."""
    parts = decoded(response).split("\0")
    if len(parts) != 3 or not parts[1] or not parts[2]:
        raise SaslFailure("not a name and a password")
    authzid, name, password = parts
    if authzid and fold(authzid) != fold(name):
        raise SaslFailure("acting for somebody else")
    return name, password
