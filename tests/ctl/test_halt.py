"""culturectl halt and unhalt: against a real server, which keeps the halt over a restart."""

import asyncio
import getpass
from pathlib import Path

import pytest
from support.irc import connected
from support.manager import Manager, managed

from culture.ctl.main import run
from culture.errors import NotAllowedError, UnavailableError, UsageError

ME = getpass.getuser()


async def typed(manager: Manager, *words: str) -> int:
    where = f"unix:{manager.directory}/ircd.sock"
    return await asyncio.to_thread(run, [*words, "--server", where])


async def test_a_halt_is_told_and_survives_a_restart_of_the_server(tmp_path: Path):
    async with managed(tmp_path, "") as server:
        async with connected(server.port(), "spark-x", caps="agentirc.dev/halt") as agent:
            await agent.until(":spark UNHALT *")
            assert await typed(server, "halt", "the disk is full") == 0
            assert (await agent.until(f":spark HALT host {ME} ")).endswith(" :the disk is full")
        assert f"agents of this host are halted by {ME}" in server.journal
        await server.crash()
        async with connected(server.port(), "spark-x", caps="agentirc.dev/halt") as agent:
            await agent.until(f":spark HALT host {ME} ")
            assert await typed(server, "unhalt") == 0
            await agent.until(":spark UNHALT *")
        await server.crash()
        async with connected(server.port(), "spark-x", caps="agentirc.dev/halt") as agent:
            await agent.until(":spark UNHALT *")


async def test_who_ends_the_wrong_halt_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    async with managed(tmp_path, "") as server:
        assert await typed(server, "halt", "--mesh") == 0
        assert await typed(server, "unhalt") == 1
        assert f"still halted for all linked hosts, by {ME}" in capsys.readouterr().err
        assert await typed(server, "unhalt", "--mesh") == 0
        assert "agents may work again" in capsys.readouterr().err


async def test_who_may_not_halt_is_refused(tmp_path: Path):
    # By TCP the server knows the user only if it has agents, or if people are named by their users.
    async with managed(tmp_path, "") as server:
        with pytest.raises(NotAllowedError, match="the server refused: "):
            await asyncio.to_thread(run, ["halt", "--server", f"127.0.0.1:{server.port()}"])


def test_a_server_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UnavailableError, match="cannot ask the server at"):
        run(["halt", "--server", f"unix:{tmp_path}/none"])


def test_an_address_that_is_none_is_told():
    with pytest.raises(UsageError, match="neither host:port nor unix:/path"):
        run(["halt", "--server", "nowhere"])
