"""TLS listeners: what they show, what they know of a client, and a new certificate while they run."""

import asyncio
import contextlib
import hashlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair
from support.irc import Plain
from support.network import Network

from culture.config.address import CARRIERS
from culture.config.ircd import Limits, Tls
from culture.errors import ConfigError
from culture.net.driver import Driver
from culture.net.listen import tls_acceptor
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.tls import Certificate


@contextlib.asynccontextmanager
async def serving(tls: Tls, **limits: int) -> AsyncIterator[tuple[Driver, Certificate, int]]:
    with listening(("127.0.0.1:0",), []) as listeners:
        driver, certificate = Driver(Network(limits=Limits(**limits)).ircd), Certificate(tls)
        driver.serve(listeners, CARRIERS["tls"], certificate)
        yield driver, certificate, address_of(listeners[0]).port
        await driver.stop()


def client(trusted: Pair, own: Pair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(trusted.certificate))
    if own is not None:
        context.load_cert_chain(own.certificate, own.key)
    return context


async def connect(port: int, context: ssl.SSLContext, name: str = "spark") -> Plain:
    return Plain(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name))


def tls_of(pair: Pair, client_certificates: Path | None = None) -> Tls:
    return Tls(str(pair.certificate), str(pair.key), str(client_certificates or ""))


def der(pair: Pair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())


async def test_a_client_registers_and_the_session_is_secure(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    async with serving(tls_of(pair)) as (driver, _, port):
        plain = await connect(port, client(pair))
        plain.send("NICK spark-ori", "USER o 0 * :o")
        await plain.until(" 001 ")
        (session,) = driver.ircd.sessions
        assert (session.is_secure, session.fingerprint) == (True, "")
        traffic = driver.ircd.traffic_of(session)
        assert traffic.bytes_out > 1000
        assert traffic.bytes_in > 100
        plain.send("QUIT")
        await plain.until("ERROR")
        await plain.close()


async def test_a_known_client_certificate_is_the_fingerprint_of_the_session(tmp_path: Path):
    pair, authority = make_pair(tmp_path, "spark"), make_pair(tmp_path, "authority")
    signed, alone = make_pair(tmp_path, "signed", authority), make_pair(tmp_path, "alone")
    known = tmp_path / "known.pem"
    known.write_text(authority.certificate.read_text() + alone.certificate.read_text())
    async with serving(tls_of(pair, known)) as (driver, _, port):
        for own in (signed, alone, None):
            plain = await connect(port, client(pair, own))
            plain.send("PING x")
            await plain.read()
            (session,) = driver.ircd.sessions
            assert session.fingerprint == (hashlib.sha256(der(own)).hexdigest() if own else "")
            plain.send("QUIT")
            await plain.until("ERROR")
            await plain.close()


async def test_an_unknown_client_certificate_is_refused(tmp_path: Path):
    pair, known, other = (make_pair(tmp_path, name) for name in ("spark", "known", "other"))
    async with serving(tls_of(pair, known.certificate)) as (driver, _, port):
        # By TLS 1.3 a client learns of it only after its side of the handshake.
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            plain = await connect(port, client(pair, other))
            with contextlib.closing(plain.writer):
                plain.send("NICK spark-ori", "USER o 0 * :o")
                assert await plain.read() == ""
        assert not driver.ircd.sessions


async def test_a_reload_shows_the_new_certificate_to_new_clients_and_keeps_the_old_ones(tmp_path: Path):
    (tmp_path / "new").mkdir()
    old, new = make_pair(tmp_path, "spark"), make_pair(tmp_path / "new", "spark")
    async with serving(tls_of(old)) as (_, certificate, port):
        first = await connect(port, client(old))
        certificate.reload(tls_of(new))
        second = await connect(port, client(new))
        shown = second.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert shown == der(new)
        for plain in (first, second):
            plain.send("QUIT")
            await plain.until("ERROR")
            await plain.close()


async def test_a_broken_certificate_leaves_the_old_one_in_place(tmp_path: Path):
    pair, other = make_pair(tmp_path, "spark"), make_pair(tmp_path, "other")
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    async with serving(tls_of(pair)) as (_, certificate, port):
        for wrong, words in [
            (Tls(str(pair.certificate), str(other.key)), "key values mismatch"),
            (Tls(str(broken), str(pair.key)), "cannot be used with its key"),
            (Tls(str(tmp_path / "none"), ""), "cannot be read: No such file or directory"),
            (tls_of(pair, pair.certificate), "only by a restart"),
        ]:
            with pytest.raises(ConfigError, match=words):
                certificate.reload(wrong)
            plain = await connect(port, client(pair))
            plain.send("QUIT")
            await plain.until("ERROR")
            await plain.close()


async def test_who_does_not_speak_tls_is_let_go_and_the_others_stay(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    async with serving(tls_of(pair)) as (driver, _, port):
        plain = Plain(*await asyncio.open_connection("127.0.0.1", port))
        plain.send("NICK spark-ori", "USER o 0 * :o")
        with contextlib.suppress(UnicodeDecodeError, ConnectionError):
            await plain.read()
        assert not driver.ircd.sessions
        await plain.close()
        secure = await connect(port, client(pair))
        secure.send("QUIT")
        await secure.until("ERROR")
        await secure.close()


async def test_the_rate_and_the_door_hold_for_tls(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    limits = {"local_clients": 1, "local_rate_lines_per_s": 500, "local_burst_lines": 10}
    async with serving(tls_of(pair), **limits) as (_, _, port):
        plain = await connect(port, client(pair))
        plain.send("NICK spark-ori", "USER o 0 * :o", *(f"PING {i}" for i in range(100)))
        for i in range(100):
            assert await plain.until("PONG") == f":spark PONG spark :{i}"
        with pytest.raises(ssl.SSLError, match="ALERT_ACCESS_DENIED"):
            await connect(port, client(pair))
        await plain.close()


async def test_who_has_not_shaken_hands_counts_too(tmp_path: Path, eventually):
    pair = make_pair(tmp_path, "spark")
    async with serving(tls_of(pair), local_clients=3) as (driver, _, port):
        waiting = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await eventually(lambda: driver.admission.connections == 3)
        with pytest.raises(ssl.SSLError, match="ALERT_ACCESS_DENIED"):
            await connect(port, client(pair))
        waiting[0][1].transport.abort()
        waiting[1][1].write(b"NICK spark-ori\r\n")
        await eventually(lambda: driver.admission.connections == 1)
        plain = await connect(port, client(pair))
        plain.send("NICK spark-ori", "USER o 0 * :o")
        await plain.until(" 001 ")
        assert (driver.admission.connections, driver.admission.registering) == (2, 1)
        for _, each in waiting:
            each.close()
        plain.send("QUIT")
        await plain.until("ERROR")
        await plain.close()
        await eventually(lambda: driver.admission.connections == 0)
        assert driver.admission.registering == driver.admission.addresses == 0


async def test_who_does_not_shake_hands_in_time_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually
):
    monkeypatch.setattr(tls_acceptor, "HANDSHAKE_S", 0.05)
    async with serving(tls_of(make_pair(tmp_path, "spark"))) as (driver, _, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01\x02")
        await eventually(lambda: driver.admission.connections == 1)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        await eventually(lambda: driver.admission.connections == 0)
        writer.close()


def test_an_encrypted_key_is_refused_without_asking(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    encrypted = tmp_path / "encrypted.key"
    encrypted.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
    with pytest.raises(ConfigError):
        Certificate(Tls(str(pair.certificate), str(encrypted)))
