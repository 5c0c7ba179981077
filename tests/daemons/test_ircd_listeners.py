"""culture-ircd as a process with several kinds of listeners: what it says of them, and a new certificate."""

import asyncio
import contextlib
import re
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair
from support.irc import Plain
from support.program import DEADLINE_S, Program

# Passes fd 3 and 4 as systemd would: LISTEN_PID is the pid of the program itself.
ACTIVATE = """
import os, sys
for number, fd in enumerate(sys.argv[1:3]):
    os.dup2(int(fd), 3 + number)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "2", "LISTEN_FDNAMES": "irc:irc-tls"}
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.asynccontextmanager
async def running(home: Path, yaml: str) -> AsyncIterator[Program]:
    (home / "ircd.yaml").write_text(f"name: spark\nstate_dir: {home}\n{yaml}")
    program = Program("culture.daemons.ircd", home=home)
    try:
        yield program
    finally:
        program.stop()


def tls_yaml(pair: Pair) -> str:
    return f"tls:\n  certificate: {pair.certificate}\n  key: {pair.key}\n"


async def shown(port: int, trusted: Pair) -> bytes:
    """The certificate that a new client sees, after it has got an answer."""
    context = ssl.create_default_context(cafile=str(trusted.certificate))
    plain = Plain(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="spark"))
    certificate = plain.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    plain.send("QUIT")
    await plain.until("ERROR")
    await plain.close()
    return certificate


async def test_it_says_what_is_reachable_from_where_and_warns_of_what_is_open(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    listen = f"listen: ['127.0.0.1:0', 'tls:0.0.0.0:0', '0.0.0.0:0', 'ws:127.0.0.1:0', 'unix:{tmp_path}/s']\n"
    async with running(tmp_path, listen + tls_yaml(pair)) as program:
        await program.says(
            r"warning: anyone who can reach 0\.0\.0\.0:\d+ may connect: neither an account nor a password"
        )
        said = program.said()
    for words in (
        r"^listening on 127\.0\.0\.1:\d+ \(plain, from this machine\)$",
        r"^listening on 0\.0\.0\.0:\d+ \(TLS, from everywhere, on all addresses\)$",
        r"^listening on 0\.0\.0\.0:\d+ \(plain, from everywhere, on all addresses\)$",
        r"^listening on 127\.0\.0\.1:\d+ \(WebSocket, plain, from this machine\)$",
        r"^listening on unix:\S+ \(plain, from this machine\)$",
        r"^accounts are not required: anyone who can reach the server may connect$",
    ):
        assert re.search(words, said, re.MULTILINE), said
    assert len(re.findall(r"^warning: 0\.0\.0\.0:\d+ has no TLS", said, re.MULTILINE)) == 1


async def test_a_reload_takes_a_new_certificate_and_keeps_the_old_one_if_it_is_broken(tmp_path: Path):
    (tmp_path / "new").mkdir()
    old, new = make_pair(tmp_path, "spark"), make_pair(tmp_path / "new", "spark")
    new_der = ssl.PEM_cert_to_DER_cert(new.certificate.read_text())
    async with running(tmp_path, "listen: ['tls:127.0.0.1:0']\n" + tls_yaml(old)) as program:
        port = int((await program.says(r"listening on 127\.0\.0\.1:(\d+) \(TLS"))[1])
        assert await shown(port, old) != new_der
        for mine, renewed in zip((old.certificate, old.key), (new.certificate, new.key), strict=True):
            mine.write_bytes(renewed.read_bytes())
        program.process.send_signal(signal.SIGHUP)
        await program.says(r"reloaded '")
        assert await shown(port, new) == new_der
        old.key.write_text("nothing")
        program.process.send_signal(signal.SIGHUP)
        await program.says(r"warning: the certificate stays as it was: tls: '.*' cannot be used with its key")
        assert await shown(port, new) == new_der


async def test_a_passed_socket_is_what_its_unit_calls_it(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    config = tmp_path / "ircd.yaml"
    config.write_text(f"name: spark\nlisten: []\nstate_dir: {tmp_path}\n{tls_yaml(pair)}")
    with socket.create_server(("127.0.0.1", 0)) as plain, socket.create_server(("127.0.0.1", 0)) as tls:
        fds = [plain.fileno(), tls.fileno()]
        command = [sys.executable, "-c", ACTIVATE, *map(str, fds)]
        command += [sys.executable, "-m", "culture.daemons.ircd", "--config", str(config)]
        process = await asyncio.create_subprocess_exec(*command, pass_fds=fds)
        try:
            assert await shown(tls.getsockname()[1], pair)
            client = Plain(*await asyncio.open_connection("127.0.0.1", plain.getsockname()[1]))
            client.send("QUIT")
            await client.until("ERROR")
            await client.close()
        finally:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("listen: ['tls:127.0.0.1:0']\n", "'tls.certificate' is missing, and 'listen' has 'tls:127.0.0.1:0'"),
        (
            "listen: ['127.0.0.1:0']\ntls: {certificate: /none.pem}\n",
            "tls: '/none.pem' cannot be read: No such",
        ),
        ("tls: {certificate: none.pem}\n", "'tls.certificate': 'none.pem' is not an absolute path"),
        ("listen: ['tls:127.0.0.1']\n", "'tls:127.0.0.1' is neither"),
        ("proxies: ['192.0.2.1/24']\n", "'proxies': 192.0.2.1/24 has host bits set"),
    ],
)
async def test_what_cannot_work_is_78_and_says_why(tmp_path: Path, yaml: str, words: str):
    async with running(tmp_path, yaml) as program:
        assert await program.ends() == 78
    assert words in program.said()
