"""Dialing another host: who is not the one it should be never hears the secret."""

import asyncio
import contextlib
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair

from culture.config.ircd import Tls
from culture.config.links import LinkConfig
from culture.errors import NotAllowedError, UnavailableError
from culture.net.links.dialing import dial
from culture.net.listen.origin import origin_of

NO_TLS = Tls()


class Listening:
    """What a host at the other end sees."""

    def __init__(self) -> None:
        self.port = 0
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()
        self.shown: list[str] = []

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.shown.append(origin_of(writer.transport).fingerprint)
        heard = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            heard = await reader.read()
        self.heard.put_nowait(heard)
        writer.close()


@contextlib.asynccontextmanager
async def listening(pair: Pair | None = None, asks_for: Path | None = None) -> AsyncIterator[Listening]:
    there, context = Listening(), None
    if pair is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        if asks_for is not None:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(asks_for)
    server = await asyncio.start_server(there.meet, "127.0.0.1", 0, ssl=context)
    there.port = server.sockets[0].getsockname()[1]
    try:
        yield there
    finally:
        server.close()
        await server.wait_closed()


def link(address: str, **rest: object) -> LinkConfig:
    return LinkConfig(name="thor", secret_credential="thor", address=address, **rest)


async def say(to: LinkConfig, own: Tls = NO_TLS) -> None:
    transport = await dial(to, own, _wired)
    transport.write(b"secret")
    transport.close()


def _wired(sock: socket.socket) -> asyncio.Transport:
    class Plain(asyncio.Transport):
        def write(self, data: bytes | bytearray | memoryview) -> None:
            sock.send(data)

        def close(self) -> None:
            sock.close()

    return Plain()


def fingerprint(pair: Pair) -> str:
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())
    return hashlib.sha256(der).hexdigest()


async def test_a_host_without_tls_is_reached_on_this_machine():
    async with listening() as there:
        await say(link(f"127.0.0.1:{there.port}"))
        assert await there.heard.get() == b"secret"


async def test_a_host_behind_a_unix_socket_is_reached(tmp_path: Path):
    there, path = Listening(), tmp_path / "thor"
    server = await asyncio.start_unix_server(there.meet, path)
    await say(link(f"unix:{path}"))
    server.close()
    await server.wait_closed()


async def test_the_pinned_certificate_will_do_whoever_signed_it(tmp_path: Path):
    pair = make_pair(tmp_path, "elsewhere")
    async with listening(pair) as there:
        await say(link(f"tls:127.0.0.1:{there.port}", fingerprint=fingerprint(pair).upper()))
        assert await there.heard.get() == b"secret"


async def test_another_certificate_hears_nothing(tmp_path: Path):
    pair, other = make_pair(tmp_path, "localhost"), make_pair(tmp_path, "other")
    async with listening(pair) as there:
        with pytest.raises(NotAllowedError, match="its certificate is not the one in 'fingerprint'"):
            await say(link(f"tls:127.0.0.1:{there.port}", fingerprint=fingerprint(other)))
        assert await there.heard.get() == b""


async def test_an_authority_vouches_for_a_host_by_name(tmp_path: Path):
    signer = make_pair(tmp_path, "signer")
    async with listening(make_pair(tmp_path, "localhost", signer)) as there:
        await say(link(f"tls:localhost:{there.port}", ca=str(signer.certificate)))
        assert await there.heard.get() == b"secret"
        with pytest.raises(NotAllowedError, match="is somebody else"):
            await say(link(f"tls:127.0.0.1:{there.port}", ca=str(signer.certificate)))
        with pytest.raises(NotAllowedError, match="is somebody else: unable to get local issuer"):
            await say(link(f"tls:localhost:{there.port}"))


async def test_a_host_that_asks_is_shown_our_own_certificate(tmp_path: Path):
    theirs, ours = make_pair(tmp_path, "theirs"), make_pair(tmp_path, "ours")
    own = Tls(certificate=str(ours.certificate), key=str(ours.key))
    async with listening(theirs, asks_for=ours.certificate) as there:
        await say(link(f"tls:127.0.0.1:{there.port}", fingerprint=fingerprint(theirs)), own)
        assert await there.heard.get() == b"secret"
        assert there.shown == [fingerprint(ours)]


async def test_a_name_that_leads_to_the_open_internet_needs_tls(monkeypatch: pytest.MonkeyPatch):
    async def resolved(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 6667))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved, raising=False)
    with pytest.raises(NotAllowedError, match=r"'thor\.example\.org' is 8\.8\.8\.8: without TLS"):
        await say(link("thor.example.org:6667"))


async def test_nobody_there_is_told(tmp_path: Path):
    with pytest.raises(UnavailableError, match=r"cannot connect to unix:.*: No such file"):
        await say(link(f"unix:{tmp_path}/nobody"))
