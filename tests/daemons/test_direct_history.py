"""Direct messages between hosts: each is read by the two who wrote it, also where a host lost its disk."""

import asyncio
import contextlib
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.accounts import PASSWORD, accounts_in
from support.irc import Plain, connected
from support.linked import Mesh, eventually, meshed

pytestmark = pytest.mark.slow


@contextlib.asynccontextmanager
async def account(mesh: Mesh, nick: str, name: str) -> AsyncIterator[Plain]:
    """Somebody who is logged in."""
    port = mesh.port(nick.partition("-")[0])
    async with connected(port, nick, account=name, password=PASSWORD) as client:
        yield client


async def found(client: Plain, *commands: str) -> list[str]:
    """What a client reads of history."""
    texts = []
    for command in commands:
        client.send(f"HISTORY {command}")
        while " HISTORYEND " not in (line := await client.read()):
            if " HISTORY " in line:
                texts.append(line.rpartition(" :")[2])
    return texts


async def write(sender: Plain, reader: Plain, to: str, text: str) -> None:
    """The sender may not have heard yet that the other is there."""
    for _ in range(500):
        sender.send(f"PRIVMSG {to} :{text}", "PING said")
        lines = []
        while " PONG " not in (line := await sender.read()):
            lines.append(line)
        if not any(" 401 " in line for line in lines):
            break
        await asyncio.sleep(0.02)
    assert (await reader.until(" PRIVMSG ")).endswith(f" :{text}")


async def lose_disk(mesh: Mesh, name: str) -> None:
    """The host is back without anything that it had written down."""
    await mesh[name].end(signal.SIGTERM)
    shutil.rmtree(mesh[name].directory / "history")
    await mesh[name].start()


async def test_a_host_that_lost_its_disk_gives_direct_messages_back_to_their_owners_alone(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        accounts_in(mesh["spark"].directory, "zoe", "lea")
        accounts_in(mesh["thor"].directory, "zoe", "lea")
        async with account(mesh, "spark-mia", "zoe") as mia, account(mesh, "thor-ori", "lea") as ori:
            await write(mia, ori, "thor-ori", "psst one")
            await write(ori, mia, "spark-mia", "psst two")
            for client, nick in ((mia, "thor-ori"), (ori, "spark-mia")):
                assert await found(client, f"RECENT {nick} 9") == ["psst one", "psst two"]
            await lose_disk(mesh, "spark")
            texts = []
            for _ in range(500):
                texts = await found(mia, "RECENT thor-ori 9")
                if len(texts) == 2:
                    break
                await asyncio.sleep(0.02)
            assert texts == ["psst one", "psst two"]
            assert await found(ori, "RECENT spark-mia 9") == ["psst one", "psst two"]
        # Accounts of the same names as the other ends have, on the hosts of these.
        async with account(mesh, "spark-stranger", "lea") as stranger:
            asked = ("RECENT spark-mia 9", "RECENT thor-ori 9", "SEARCH * psst")
            assert await found(stranger, *asked) == []
        async with account(mesh, "thor-stranger", "zoe") as stranger:
            asked = ("RECENT thor-ori 9", "RECENT spark-mia 9", "SEARCH * psst")
            assert await found(stranger, *asked) == []


async def test_guests_of_two_hosts_are_known_by_their_sessions(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh, connected(mesh.port("spark"), "spark-mia") as mia:
        async with connected(mesh.port("thor"), "thor-ori") as ori:
            await write(mia, ori, "thor-ori", "psst one")
            await write(ori, mia, "spark-mia", "psst two")
            ori.send("NICK thor-ori2")
            await ori.until(" NICK ")
            await write(ori, mia, "spark-mia", "psst three")
            await write(mia, ori, "thor-ori2", "psst four")
            all_four = ["psst one", "psst two", "psst three", "psst four"]
            assert await found(mia, "RECENT thor-ori2 9") == all_four
            assert await found(ori, "RECENT spark-mia 9") == all_four
            await lose_disk(mesh, "thor")
            await eventually(lambda: len(texts_of(mesh, "thor")) == 4, mesh["thor"])
            assert await found(ori, "RECENT spark-mia 9") == all_four
            mia.send("MONITOR + thor-ori2")
            await mia.until(" 730 ")
        await mia.until(" 731 ")
        async with connected(mesh.port("thor"), "thor-ori2") as thief:
            await write(mia, thief, "thor-ori2", "to somebody else")
            assert await found(thief, "RECENT spark-mia 9", "SEARCH * psst") == ["to somebody else"]
            assert (await found(mia, "RECENT thor-ori2 9"))[-1] == "to somebody else"


def texts_of(mesh: Mesh, name: str) -> list[str]:
    return mesh.texts(name, "")
