"""How a client proved its identity."""

from enum import StrEnum
from typing import Final


class Proof(StrEnum):
    """The strongest proof of the identity behind a session.

    A session keeps its proof over a restart of the server. Users of other hosts have none here: their own
    host knows how they logged in.
    """

    # Nobody vouches for the client. A nick alone proves nothing.
    NONE = "none"
    # The password of an account: SASL PLAIN or SCRAM-SHA-256, or REGISTER, which sets it.
    PASSWORD = "password"
    # The certificate of an account: SASL EXTERNAL.
    CERTIFICATE = "certificate"
    # A token of the OpenID Connect provider: SASL OAUTHBEARER.
    TOKEN = "token"
    # The kernel says which Unix user connected, and `accounts.local_users` names that user's account.
    UNIX_USER = "unix-user"
    # The kernel says that the Unix user of an agent connected. The session can be nobody else.
    AGENT_UNIX_USER = "agent-unix-user"
    # A class of the operator's own, named in `accounts.authenticators`, named the account.
    AUTHENTICATOR = "authenticator"


# The mechanism of a login, as the journal names it, and what it proves.
PROOFS: Final = {
    "PLAIN": Proof.PASSWORD,
    "SCRAM-SHA-256": Proof.PASSWORD,
    "REGISTER": Proof.PASSWORD,
    "EXTERNAL": Proof.CERTIFICATE,
    "OAUTHBEARER": Proof.TOKEN,
    "user": Proof.UNIX_USER,
    "agent": Proof.AGENT_UNIX_USER,
    "authenticator": Proof.AUTHENTICATOR,
}
