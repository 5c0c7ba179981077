"""TLS certificate of the listeners, which a reload can replace without a restart."""

import ssl
from collections.abc import Sequence

from culture.config.ircd import Tls
from culture.errors import ConfigError, Problem
from culture.net.listen.listeners import Listener

# Time limit for the TLS handshake.
HANDSHAKE_S = 10.0


class Certificate:
    """The server certificate. `context` presents the most recently loaded one."""

    def __init__(self, tls: Tls) -> None:
        self._asks_clients = bool(tls.client_certificates)
        self._current = _load(tls)
        self.context = _load(tls)
        self.context.sni_callback = self._select_context

    def reload(self, tls: Tls) -> None:
        """Load a new certificate for new connections. Raises ConfigError and changes nothing on failure."""
        if bool(tls.client_certificates) != self._asks_clients:
            raise ConfigError(
                [Problem("tls", "'client_certificates' can be switched on or off only by a restart")]
            )
        self._current = _load(tls)

    def _select_context(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        # OpenSSL calls this in every handshake, even if the client sends no server name.
        connection.context = self._current


def certificate_for(tls: Tls, listeners: Sequence[Listener]) -> Certificate | None:
    """Return the configured certificate, or None. Raises ConfigError if a listener needs one."""
    if tls.certificate:
        return Certificate(tls)
    if any(each.carrier.is_tls for each in listeners):
        raise ConfigError([Problem("tls", "a socket for TLS was passed, but 'certificate' is empty")])
    return None


def _load(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for path in filter(None, (tls.certificate, tls.key, tls.client_certificates)):
        _check_readable(path)
    try:
        context.load_cert_chain(tls.certificate, tls.key or None, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        why = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)
        raise _problem(tls.certificate, f"cannot be used with its key: {_readable_reason(why)}") from None
    if tls.client_certificates:
        # Client certificates are optional, but must be one of these or signed by one of them.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(tls.client_certificates)
        except ssl.SSLError as error:
            raise _problem(
                tls.client_certificates, f"has no certificates: {_readable_reason(error.reason)}"
            ) from None
    return context


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise _problem(path, f"cannot be read: {error.strerror}") from None


def _problem(path: str, what: str) -> ConfigError:
    return ConfigError([Problem("tls", f"'{path}' {what}")])


def _readable_reason(reason: str | None) -> str:
    return (reason or "not PEM").lower().replace("_", " ")


def _no_password() -> str:
    """Refuse an encrypted key, for which OpenSSL would prompt on the terminal."""
    raise ValueError("the key is encrypted")
