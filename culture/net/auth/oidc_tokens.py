"""Check tokens (JWT, RFC 7519) of an OpenID Connect provider against its published keys."""

from typing import Any, Final

from culture.config.ircd import OidcConfig
from culture.errors import UnavailableError
from culture.names import is_nick
from culture.net.auth.oidc_keys import Keys, KeysAtUrl, KeysInFile

# Allowed clock skew between the provider and this host.
LEEWAY_S: Final = 30

# Signature algorithms by key type and curve. Symmetric keys are left out on purpose.
_BY_TYPE = {"RSA": "RS256", "OKP": "EdDSA"}
_BY_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class TokenVerifier:
    """Verifies tokens. It may run in any thread, and may block to fetch keys."""

    def __init__(self, config: OidcConfig, keys: Keys | None = None) -> None:
        try:
            # Optional and slow to import.
            import jwt
        except ImportError:
            hint = "apt install python3-jwt python3-cryptography, or in a checkout: pip install '.[oidc]'"
            raise UnavailableError("'oidc' needs PyJWT, which is not installed", hint=hint) from None
        self._jwt = jwt
        self._config = config
        self._keys = keys or (KeysAtUrl(config.keys_url) if config.keys_url else KeysInFile(config.keys_file))

    def account_of(self, token: str) -> str | None:
        """Return the account that a token names if its signature, issuer, audience and expiry are valid."""
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
