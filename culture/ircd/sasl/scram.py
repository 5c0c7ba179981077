"""SASL SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side: the password never crosses the wire."""

import base64
import hashlib
import hmac
import re

from culture.ircd.auth.questions import ScramKeys
from culture.ircd.sasl.step import Ask, Challenge, LoggedIn, SaslFailure, Step, decoded
from culture.names import fold

# RFC 5802 section 7. No channel binding is offered, hence `p=` is refused.
_CLIENT_FIRST = re.compile(
    r"(?P<gs2>[ny],(?:a=(?P<authzid>[^,]*))?,)(?P<bare>n=(?P<name>[^,]+),r=(?P<nonce>[!-+\--~]+)(?:,.*)?)"
)
_CLIENT_FINAL = re.compile(r"(?P<bare>c=(?P<binding>[^,]*),r=(?P<nonce>[^,]*)(?:,.*)?),p=(?P<proof>[^,]*)")
_NAME = re.compile(r"(?:[^=]|=2C|=3D)+")


class ScramSha256:
    """SASL SCRAM-SHA-256: the client proves its password without sending it."""

    def __init__(self) -> None:
        self.claimed = ""
        self._next = self._first
        self._gs2 = ""
        self._signed = ""
        self._nonce = ""

    def respond(self, response: bytes) -> Step:
        return self._next(response)

    def _first(self, response: bytes) -> Step:
        found = _CLIENT_FIRST.fullmatch(decoded(response))
        if found is None:
            raise SaslFailure("not a first message of SCRAM")
        self.claimed = name = _parse_name(found["name"])
        if found["authzid"] and fold(_parse_name(found["authzid"])) != fold(name):
            raise SaslFailure("acting for somebody else")
        self._gs2, self._signed, self._nonce = found["gs2"], found["bare"], found["nonce"]
        return Ask(lambda authenticator: authenticator.scram_keys(name), self._challenge)

    def _challenge(self, keys: ScramKeys) -> Step:
        self._nonce += keys.nonce
        challenge = f"r={self._nonce},s={_text(keys.salt)},i={keys.iterations}"
        self._signed += f",{challenge}"
        self._next = lambda response: self._final(response, keys)
        return Challenge(challenge.encode())

    def _final(self, response: bytes, keys: ScramKeys) -> Step:
        found = _CLIENT_FINAL.fullmatch(decoded(response))
        if found is None or found["nonce"] != self._nonce or _raw(found["binding"]) != self._gs2.encode():
            raise SaslFailure("not the final message of this exchange")
        signed = f"{self._signed},{found['bare']}".encode()
        signature = hmac.digest(keys.stored_key, signed, "sha256")
        proof = _raw(found["proof"])
        if len(proof) != len(signature):
            raise SaslFailure("not a proof")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        fits = hmac.compare_digest(hashlib.sha256(client_key).digest(), keys.stored_key)
        if not fits or keys.account is None:
            raise SaslFailure("no such account, or not its password")
        account = keys.account
        self._next = lambda response: _end(response, account)
        return Challenge(f"v={_text(hmac.digest(keys.server_key, signed, 'sha256'))}".encode())


def _end(response: bytes, account: str) -> Step:
    if response:
        raise SaslFailure("more than was asked for")
    return LoggedIn(account)


def _parse_name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise SaslFailure("not a name")
    return text.replace("=2C", ",").replace("=3D", "=")


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _raw(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise SaslFailure("not base64") from None
