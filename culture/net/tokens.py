"""Tokens of an OpenID Connect provider (JWT, RFC 7519), checked against the keys that it publishes."""

from typing import Any, Final

from culture.config.ircd import OidcConfig
from culture.errors import UnavailableError
from culture.names import is_nick
from culture.net.keys import Keys, KeysAtUrl, KeysInFile

LEEWAY_S: Final = 30
"""How far two clocks may be apart."""

# Which signatures a key is for. What is not here, above all a shared secret, is no key of a provider.
_BY_TYPE = {"RSA": "RS256", "OKP": "EdDSA"}
_BY_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class Tokens:
    """Runs in any thread: keys may have to be fetched."""

    def __init__(self, config: OidcConfig, keys: Keys | None = None) -> None:
        try:
            # An extra that few need, and that takes a while to load.
            import jwt
        except ImportError:
            hint = "apt install python3-jwt python3-cryptography, or in a checkout: pip install '.[oidc]'"
            raise UnavailableError("'oidc' needs PyJWT, which is not installed", hint=hint) from None
        self._jwt = jwt
        self._config = config
        self._keys = keys or (KeysAtUrl(config.keys_url) if config.keys_url else KeysInFile(config.keys_file))

    def account_of(self, token: str) -> str | None:
        """Whom the token names, if the provider signed it for this server and it is still good."""
        try:
            key, algorithm = self._key_for(self._jwt.get_unverified_header(token).get("kid"))
            claims = self._jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._config.audience,
                issuer=self._config.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except self._jwt.PyJWTError:
            return None
        account = claims.get(self._config.account_claim)
        return account if isinstance(account, str) and is_nick(account) else None

    def _key_for(self, key_id: str | None) -> tuple[Any, str]:
        for entry in self._keys.find(key_id):
            algorithm = _BY_TYPE.get(entry.get("kty", "")) or _BY_CURVE.get(entry.get("crv", ""))
            if algorithm is not None:
                return self._jwt.PyJWK.from_dict(entry, algorithm).key, algorithm
        raise self._jwt.InvalidTokenError("no such key")
