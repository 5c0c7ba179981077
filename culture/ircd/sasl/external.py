"""SASL EXTERNAL (RFC 4422 appendix A): the certificate of the connection says who it is."""

from culture.ircd.sasl.step import Ask, LoggedIn, SaslFailure, Step, decoded
from culture.names import fold


class External:
    """SASL EXTERNAL: the certificate of the TLS connection is the proof."""

    def __init__(self, fingerprint: str) -> None:
        """`fingerprint` is empty for a connection without a certificate."""
        self.claimed = ""
        self._fingerprint = fingerprint

    def respond(self, response: bytes) -> Step:
        self.claimed = wanted = decoded(response)
        if not self._fingerprint:
            raise SaslFailure("no certificate")

        def check(account: str | None) -> Step:
            if account is None or (wanted and fold(wanted) != fold(account)):
                raise SaslFailure("not a certificate of that account")
            return LoggedIn(account)

        return Ask(lambda authenticator: authenticator.account_of_certificate(self._fingerprint), check)
