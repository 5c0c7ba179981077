"""SASL OAUTHBEARER (RFC 7628): a token that somebody else gave out says who it is."""

import re

from culture.ircd.sasl.step import Ask, Challenge, LoggedIn, SaslFailure, Step, decoded
from culture.names import fold

_REFUSED = b'{"status":"invalid_token"}'
# What a client answers to an error, so that the exchange can end (RFC 7628 section 3.2.3).
_UNDERSTOOD = b"\x01"

# RFC 7628 section 3.1: a GS2 header, then key=value pairs, each ended by ^A, and one more ^A.
_MESSAGE = re.compile(r"[ny],(?:a=(?P<authzid>[^,]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[^\x01]*\x01)*)\x01")
_BEARER = re.compile(r"Bearer +(?P<token>[A-Za-z0-9._~+/=-]+)", re.IGNORECASE)


class OauthBearer:
    """SASL OAUTHBEARER: a token of the OpenID Connect provider is the proof."""

    def __init__(self) -> None:
        self.claimed = ""
        self._is_refused = False

    def respond(self, response: bytes) -> Step:
        if self._is_refused:
            raise SaslFailure("refused" if response == _UNDERSTOOD else "not the end of a refusal")
        wanted, token = parse_bearer(response)
        self.claimed = wanted

        def check(account: str | None) -> Step:
            if account is None or (wanted and fold(wanted) != fold(account)):
                self._is_refused = True
                return Challenge(_REFUSED)
            return LoggedIn(account)

        return Ask(lambda authenticator: authenticator.account_of_token(token), check)


def parse_bearer(response: bytes) -> tuple[str, str]:
    """Whom the client wants to be, which may be empty, and its token."""
    message = _MESSAGE.fullmatch(decoded(response))
    if message is None:
        raise SaslFailure("not a message of OAUTHBEARER")
    pairs = dict(pair.split("=", 1) for pair in message["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise SaslFailure("no token")
    authzid = (message["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
    return authzid, bearer["token"]
