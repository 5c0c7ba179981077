"""TLS of the listeners: the certificate, and a new one without a restart."""

import ssl
from collections.abc import Sequence

from culture.config.ircd import Tls
from culture.errors import ConfigError, Problem
from culture.net.listeners import Listener

HANDSHAKE_S = 10.0
"""How long a client may take before it is a client."""


class Certificate:
    """What listeners show. `context` is theirs for good; what it shows is as new as the last reload."""

    def __init__(self, tls: Tls) -> None:
        self._asks_clients = bool(tls.client_certificates)
        self._shown = _load(tls)
        self.context = _load(tls)
        self.context.sni_callback = self._show

    def reload(self, tls: Tls) -> None:
        """For connections from now on. Raises ConfigError, and all stays as it was, if files are no good."""
        if bool(tls.client_certificates) != self._asks_clients:
            raise ConfigError(
                [Problem("tls", "'client_certificates' can be switched on or off only by a restart")]
            )
        self._shown = _load(tls)

    def _show(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        # OpenSSL asks in every handshake, also where the client names no server.
        connection.context = self._shown


def certificate_for(tls: Tls, listeners: Sequence[Listener]) -> Certificate | None:
    """None where none is configured, and no listener wants one."""
    if tls.certificate:
        return Certificate(tls)
    if any(each.carrier.is_tls for each in listeners):
        raise ConfigError([Problem("tls", "a socket for TLS was passed, and 'certificate' is empty")])
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
        raise _problem(tls.certificate, f"cannot be used with its key: {_words(why)}") from None
    if tls.client_certificates:
        # A client need not have a certificate; one that it shows is one of these, or signed by one.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(tls.client_certificates)
        except ssl.SSLError as error:
            raise _problem(tls.client_certificates, f"has no certificates: {_words(error.reason)}") from None
    return context


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise _problem(path, f"cannot be read: {error.strerror}") from None


def _problem(path: str, what: str) -> ConfigError:
    return ConfigError([Problem("tls", f"'{path}' {what}")])


def _words(reason: str | None) -> str:
    return (reason or "not PEM").lower().replace("_", " ")


def _no_password() -> str:
    """An encrypted key would make OpenSSL ask on the terminal of a daemon."""
    raise ValueError("the key is encrypted")
