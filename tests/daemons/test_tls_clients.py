"""culture-ircd and openssl's own client: TLS, and logging in by a certificate (SASL EXTERNAL)."""

import asyncio
import contextlib
import hashlib
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair
from support.irc import Plain
from support.program import DEADLINE_S, Program

CONFIG = """
name: spark
nick_policy: open
listen: ["tls:127.0.0.1:0"]
accounts: {{required: true, authenticators: [certificate]}}
tls:
  certificate: {server.certificate}
  key: {server.key}
  client_certificates: {authority.certificate}
"""


def culturectl(home: Path, *arguments: str, typed: str = "") -> None:
    command = [sys.executable, "-m", "culture.ctl.main", *arguments, "--config", str(home / "ircd.yaml")]
    env = {"CULTURE_HOME": str(home), "HOME": str(home)}
    subprocess.run(command, input=typed, text=True, timeout=30, check=True, env=env)


def fingerprint(pair: Pair) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())).hexdigest()


@contextlib.asynccontextmanager
async def openssl(port: str, trusted: Pair, own: Pair | None = None) -> AsyncIterator[Plain]:
    """`openssl s_client`, which shows a certificate if it has one, and checks the server's."""
    command = ["openssl", "s_client", "-quiet", "-verify_quiet", "-verify_return_error"]
    command += [
        "-connect",
        f"127.0.0.1:{port}",
        "-CAfile",
        str(trusted.certificate),
        "-verify_hostname",
        "spark",
    ]
    if own is not None:
        command += ["-cert", str(own.certificate), "-key", str(own.key)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield Plain(process.stdout, process.stdin)
    finally:
        process.stdin.close()
        if process.returncode is None:
            process.kill()
        await asyncio.wait_for(process.wait(), DEADLINE_S)


@pytest.fixture
def pairs(tmp_path: Path) -> dict[str, Pair]:
    authority = make_pair(tmp_path, "authority")
    signed = {name: make_pair(tmp_path, name, authority) for name in ("ori", "bo")}
    return {"authority": authority, "spark": make_pair(tmp_path, "spark"), **signed}


@contextlib.asynccontextmanager
async def running(home: Path, pairs: dict[str, Pair]) -> AsyncIterator[tuple[Program, str]]:
    (home / "ircd.yaml").write_text(CONFIG.format(server=pairs["spark"], authority=pairs["authority"]))
    culturectl(home, "accounts", "add", "Ori", "--password-stdin", typed="not used\n")
    culturectl(home, "accounts", "certificate", "Ori", fingerprint(pairs["ori"]))
    program = Program("culture.daemons.ircd", home=home)
    try:
        yield program, (await program.says(r"listening on 127\.0\.0\.1:(\d+) \(TLS"))[1]
    finally:
        program.stop()


async def test_a_certificate_logs_in_and_lets_in(tmp_path: Path, pairs: dict[str, Pair]):
    async with running(tmp_path, pairs) as (program, port):
        await program.says(r"these may connect: clients that log in \(EXTERNAL\)")
        async with openssl(port, pairs["spark"], pairs["ori"]) as client:
            client.send("CAP LS 302", "NICK ori", "USER o 0 * :o", "CAP REQ :sasl")
            await client.until("sasl=EXTERNAL")
            client.send("AUTHENTICATE EXTERNAL", "AUTHENTICATE +", "CAP END", "WHOIS ori")
            assert (await client.until(" 900 ")).endswith(" Ori :You are now logged in as Ori")
            await client.until(" 903 ")
            await client.until(" 001 ori ")
            await client.until(" 671 ori ori :")
            await program.says(r"ori \(127\.0\.0\.1:\d+\) is logged in as 'Ori'")
            client.send("QUIT")
            await client.until("ERROR")


@pytest.mark.parametrize("who", ["bo", None])
async def test_one_that_belongs_to_no_account_does_not(
    who: str | None, tmp_path: Path, pairs: dict[str, Pair]
):
    async with running(tmp_path, pairs) as (program, port):
        async with openssl(port, pairs["spark"], pairs[who] if who else None) as client:
            client.send(
                "CAP REQ :sasl", "NICK bo", "USER b 0 * :b", "AUTHENTICATE EXTERNAL", "AUTHENTICATE +"
            )
            await client.until(" 904 bo ")
            client.send("AUTHENTICATE PLAIN")
            await client.until(" 908 bo EXTERNAL ")
            client.send("CAP END")
            await client.until("ERROR :Closing Link: spark (Log in first (SASL))")
        await program.says(r"warning: bo \(127\.0\.0\.1:\d+\) did not log in")
