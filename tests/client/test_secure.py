"""Ways to a server that is careful about who comes in: TLS, a unix socket, an account."""

import contextlib
from pathlib import Path

import pytest
from support.accounts import PASSWORD, accounts_in
from support.certificates import make_pair
from support.person import Person, online
from support.program import Program

from culture.client.connection import tls_context
from culture.config.address import TcpAddress, UnixAddress
from culture.errors import NotAllowedError, UnavailableError


@contextlib.asynccontextmanager
async def serving(home: Path, config: str):
    (home / "ircd.yaml").write_text(f"name: spark\nnick_policy: open\nstate_dir: {home}\n{config}\n")
    program = Program("culture.daemons.ircd", "--config", str(home / "ircd.yaml"), home=home)
    try:
        yield program
    finally:
        program.stop()


async def port_of(program: Program) -> int:
    return int((await program.says(r"listening on \S*?127\.0\.0\.1:(\d+)"))[1])


async def test_by_tls_with_the_authority_that_is_configured(tmp_path, eventually):
    pair = make_pair(tmp_path, "localhost")
    config = f"listen: ['tls:127.0.0.1:0']\ntls: {{certificate: {pair.certificate}, key: {pair.key}}}"
    async with serving(tmp_path, config) as program:
        address = TcpAddress("localhost", await port_of(program))
        ori = Person(address, "ori", "#ops", tls=tls_context(str(pair.certificate)))
        stranger = Person(address, "bo", tls=tls_context(""))
        async with online(ori, stranger):
            await eventually(lambda: ori.has_joined("#ops"))
            why = (await eventually(lambda: stranger.downs))[0]

    assert "its certificate is not valid: self-signed certificate" in str(why)
    assert why.hint == "set tls_ca in agents.yaml to the authority that signed it"


async def test_by_tls_to_a_server_that_speaks_none(tmp_path, eventually):
    async with serving(tmp_path, "listen: ['127.0.0.1:0']") as program:
        ori = Person(TcpAddress("localhost", await port_of(program)), "ori", tls=tls_context(""))
        async with online(ori):
            why = (await eventually(lambda: ori.downs))[0]

    assert "by TLS" in str(why) or "closed" in str(why)


def test_authorities_that_are_not_there_are_told(tmp_path):
    with pytest.raises(UnavailableError, match=r"cannot read certificates from '.*/none\.crt'"):
        tls_context(str(tmp_path / "none.crt"))


async def test_by_a_unix_socket(tmp_path, eventually):
    path = tmp_path / "ircd.sock"
    async with serving(tmp_path, f"listen: ['unix:{path}']"):
        await eventually(path.exists)
        ori = Person(UnixAddress(str(path)), "ori", "#ops")
        async with online(ori):
            await eventually(lambda: ori.has_joined("#ops"))


async def test_with_an_account(tmp_path, eventually):
    accounts_in(tmp_path, "claude")
    config = "listen: ['127.0.0.1:0']\naccounts: {required: true}"
    async with serving(tmp_path, config) as program:
        address = TcpAddress("127.0.0.1", await port_of(program))
        claude = Person(address, "spark-claude", "#ops", account="claude", account_password=PASSWORD)
        async with online(claude):
            await eventually(lambda: claude.has_joined("#ops"))
        wrong = Person(address, "spark-claude", account="claude", account_password="guess")
        with pytest.raises(NotAllowedError, match="does not take the account or its password"):
            await wrong.client.run()
