"""Accounts across processes: made by culturectl while the server runs, used by a client that logs in."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.irc import Plain
from support.program import Program


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "ircd.yaml").write_text("name: spark\nlisten: ['127.0.0.1:0']\nnick_policy: open\n")
    program = Program("culture.daemons.ircd", "--config", str(tmp_path / "ircd.yaml"), home=tmp_path)
    yield program
    program.stop()


def add_account(home: Path, name: str, password: str) -> None:
    command = [sys.executable, "-m", "culture.ctl.main", "accounts", "add", name, "--password-stdin"]
    env = {"CULTURE_HOME": str(home), "HOME": str(home)}
    subprocess.run(
        [*command, "--config", str(home / "ircd.yaml")],
        input=password,
        text=True,
        timeout=30,
        check=True,
        env=env,
    )


async def test_an_account_made_while_the_server_runs_can_be_used_at_once(server: Program, tmp_path: Path):
    port = int((await server.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
    add_account(tmp_path, "Ori", "sesame")
    client = Plain(*await asyncio.open_connection("127.0.0.1", port))
    token = base64.b64encode(b"\0ori\0sesame").decode()
    client.send("CAP REQ :sasl", "AUTHENTICATE PLAIN", f"AUTHENTICATE {token}")
    client.send("NICK ori", "USER o 0 * :o", "CAP END")
    assert (await client.until(" 900 ")).endswith("Ori :You are now logged in as Ori")
    await client.until(" 903 ")
    await client.until(" 001 ori ")
    await server.says("ori .* registered")
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {base64.b64encode(b'x').decode()}", "QUIT")
    await client.until(" 904 ")
    await client.until("ERROR")
    await client.close()


async def test_an_operator_by_credential_lets_the_server_read_its_configuration_again(tmp_path: Path):
    config = tmp_path / "ircd.yaml"
    text = "name: spark\nlisten: ['127.0.0.1:0']\nnick_policy: open\n"
    config.write_text(text + "opers:\n  - {name: root, password_credential: root}\n")
    (tmp_path / "root").write_text("sesame\n")
    env = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    server = Program("culture.daemons.ircd", "--config", str(config), home=tmp_path, env=env)
    try:
        port = int((await server.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        client = Plain(*await asyncio.open_connection("127.0.0.1", port))
        client.send("NICK ori", "USER o 0 * :o", "OPER root wrong", "OPER root sesame")
        await client.until(" 464 ")
        await client.until(" 381 ")
        config.write_text(text + "opers: [{name: root, password_credential: root}]\nmotto: wrong\n")
        client.send("REHASH")
        assert "unknown key 'motto'" in await client.until("the configuration stays as it was: ")
        config.write_text(text + "motd: read again\n")
        client.send("REHASH")
        await client.until(" 382 ")
        await server.says("reloaded ")
        client.send("MOTD", "REHASH")
        await client.until("read again")
        await client.until(" 723 ")
        await client.close()
    finally:
        server.stop()
