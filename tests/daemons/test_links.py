"""culture-ircd on several hosts: one network, whatever happens to the links between them."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import Plain, connected
from support.linked import Mesh, eventually, meshed
from support.manager import Manager

pytestmark = pytest.mark.slow

CAPS = "batch server-time message-tags"
TWENTY = [f"message {number}" for number in range(20)]
Again = pytest.mark.parametrize("again", [Manager.restart, Manager.crash])


@contextlib.asynccontextmanager
async def together(mesh: Mesh, caps: str = "") -> AsyncIterator[tuple[Plain, Plain]]:
    """Somebody on spark and somebody on thor, in a channel where they see each other."""
    async with (
        connected(mesh.port("spark"), "spark-ori", "#ops", caps=caps) as ori,
        connected(mesh.port("thor"), "thor-bo", "#ops", caps=caps) as bo,
    ):
        await ori.until(":thor-bo!bo@thor JOIN #ops")
        await sees(bo, "spark-ori")
        yield ori, bo


async def sees(client: Plain, *nicks: str, is_there: bool = True) -> None:
    """Asks who is in the channel until these are, or are not any more."""
    for _ in range(500):
        client.send("NAMES #ops")
        names = (await client.until(" 353 ")).rpartition(":")[2].replace("@", "").split()
        if all((nick in names) is is_there for nick in nicks):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{nicks} {'are not' if is_there else 'are'} among {names}")


async def heard(client: Plain, count: int) -> list[str]:
    """So many messages as they come, and nothing that would be one too many right behind them."""
    texts = [(await client.until(" PRIVMSG ")).partition(" :")[2].rpartition(" :")[2] for _ in range(count)]
    client.send("PING end")
    while "PONG" not in (line := await client.read()):
        assert " PRIVMSG " not in line
    return texts


async def have(mesh: Mesh, texts: list[str], *names: str) -> None:
    """Each of these hosts has all of it, and nothing twice."""
    for name in names:
        await eventually(lambda name=name: len(mesh.texts(name)) >= len(texts), mesh[name])
        assert sorted(mesh.texts(name)) == sorted(texts)


async def agree(mesh: Mesh, *names: str) -> None:
    """Row by row, in the same order."""
    await eventually(lambda: len({str(mesh.history(name)) for name in names}) == 1, mesh[names[0]])


async def test_what_is_said_on_one_host_is_read_on_the_other(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh, together(mesh) as (ori, bo):
        ori.send("PRIVMSG #ops :disk is full")
        assert await bo.until("PRIVMSG") == ":spark-ori!ori@spark PRIVMSG #ops :disk is full"
        bo.send("TOPIC #ops :who has space", "PRIVMSG #ops :not me")
        assert await ori.until("PRIVMSG") == ":thor-bo!bo@thor PRIVMSG #ops :not me"
        await agree(mesh, "spark", "thor")


async def test_a_direct_message_arrives_once_and_is_known_to_two_hosts_alone(tmp_path: Path):
    async with (
        meshed(tmp_path, "spark-thor", "thor-orin", "spark-ec2") as mesh,
        connected(mesh.port("spark"), "spark-ori", "#ops") as ori,
        connected(mesh.port("orin"), "orin-kit", "#ops") as kit,
    ):
        await sees(ori, "orin-kit")
        ori.send("PRIVMSG orin-kit :between us")
        assert await heard(kit, 1) == ["between us"]
        found = {
            name
            for name in mesh.hosts
            for path in (mesh[name].directory / "history").iterdir()
            if b"between us" in path.read_bytes()
        }
        assert found == {"spark", "orin"}


async def test_twenty_of_twenty_come_back_after_a_cut_when_counters_differ(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        async with together(mesh) as (ori, bo):
            bo.send(*(f"PRIVMSG #ops :thor counts {number}" for number in range(7)))
            await heard(ori, 7)
            mesh.ways["spark-thor"].cut()
            await mesh.unlinked("spark", "thor")
            ori.send(*(f"PRIVMSG #ops :{text}" for text in TWENTY))
            await mesh.ways["spark-thor"].open()
            await have(mesh, [*(f"thor counts {number}" for number in range(7)), *TWENTY], "spark", "thor")
        await agree(mesh, "spark", "thor")
        assert [text for text in mesh.texts("thor") if text in TWENTY] == TWENTY


async def test_twenty_of_twenty_come_back_after_a_silent_partition(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh, together(mesh) as (ori, bo):
        mesh.ways["spark-thor"].swallow()
        ori.send(*(f"PRIVMSG #ops :{text}" for text in TWENTY[:10]))
        bo.send(*(f"PRIVMSG #ops :{text}" for text in TWENTY[10:]))
        await mesh.unlinked("spark", "thor")
        mesh.ways["spark-thor"].break_off()
        await mesh.ways["spark-thor"].open()
        await have(mesh, TWENTY, "spark", "thor")
        await agree(mesh, "spark", "thor")


async def test_nobody_is_a_ghost_after_a_split(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh, together(mesh, CAPS) as (ori, bo):
        async with connected(mesh.port("thor"), "thor-kit", "#ops") as kit:
            await sees(ori, "thor-kit")
            mesh.ways["spark-thor"].cut()
            start = await ori.until(" BATCH +")
            assert start.endswith(" netsplit spark thor")
            await ori.until(" BATCH -")
            assert {line.partition("!")[0].rpartition(":")[2] for line in ori.seen if " QUIT " in line} == {
                "thor-bo",
                "thor-kit",
            }
            kit.send("QUIT :home")
            await bo.until(":thor-kit!kit@thor QUIT")
        await mesh.ways["spark-thor"].open()
        start = await ori.until(" BATCH +")
        assert start.endswith(" netjoin spark thor")
        assert ":thor-bo!bo@thor JOIN #ops" in await ori.until("JOIN")
        await sees(ori, "thor-bo")
        await sees(ori, "thor-kit", is_there=False)
        await sees(bo, "spark-ori")


@Again
@pytest.mark.parametrize("which", ["spark", "thor"])
async def test_a_restart_of_either_host_is_seen_by_nobody(tmp_path: Path, which: str, again):
    patient = "mesh: {split_after_s: 60}\n"
    async with meshed(tmp_path, "spark-thor", config=patient) as mesh, together(mesh) as (ori, bo):
        client = ori if which == "spark" else bo
        await mesh[which].keeps_client(client.writer.get_extra_info("sockname")[1])
        ori.send("PRIVMSG #ops :before")
        assert await heard(bo, 1) == ["before"]
        ori.seen.clear()
        bo.seen.clear()

        await again(mesh[which])
        ori.send("PRIVMSG #ops :during")
        bo.send("PRIVMSG #ops :here too")
        assert await heard(bo, 1) == ["during"]
        assert await heard(ori, 1) == ["here too"]

        await sees(ori, "spark-ori", "thor-bo")
        await sees(bo, "spark-ori", "thor-bo")
        for client in (ori, bo):
            assert not [line for line in client.seen if " QUIT" in line or " JOIN " in line]
        await agree(mesh, "spark", "thor")


async def test_a_chain_carries_what_its_ends_say(tmp_path: Path):
    async with (
        meshed(tmp_path, "spark-thor", "thor-orin") as mesh,
        connected(mesh.port("spark"), "spark-ori", "#ops") as ori,
        connected(mesh.port("orin"), "orin-kit", "#ops") as kit,
    ):
        await sees(ori, "orin-kit")
        await sees(kit, "spark-ori")
        ori.send("PRIVMSG #ops :one")
        assert await heard(kit, 1) == ["one"]
        mesh.ways["thor-orin"].cut()
        await mesh.unlinked("orin")
        ori.send("PRIVMSG #ops :two")
        await mesh.ways["thor-orin"].open()
        await have(mesh, ["one", "two"], "spark", "thor", "orin")
        await agree(mesh, "spark", "thor", "orin")


async def test_only_the_named_channels_cross_a_limited_link(tmp_path: Path):
    limited = {"spark-thor": ", channels: ['#ops']"}
    async with meshed(tmp_path, "spark-thor", options=limited) as mesh, together(mesh) as (ori, bo):
        ori.send("JOIN #secret", "PRIVMSG #secret :psst", "PRIVMSG thor-bo :and you")
        bo.send("JOIN #secret")
        await bo.until(" 366 thor-bo #secret ")
        ori.send("PRIVMSG #ops :in the open")
        assert await heard(bo, 1) == ["in the open"]
        bo.send("NAMES #secret")
        assert (await bo.until(" 353 ")).endswith(" #secret :@thor-bo")
        assert mesh.texts("thor", "#secret") == []


async def test_a_replay_that_is_cut_resumes_where_it_was(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh, together(mesh) as (ori, _):
        way = mesh.ways["spark-thor"]
        way.cut()
        await mesh.unlinked("spark", "thor")
        texts = [f"long ago {number}" for number in range(3000)]
        ori.send(*(f"PRIVMSG #ops :{text}" for text in texts))
        await eventually(lambda: len(mesh.texts("spark")) == len(texts), mesh["spark"])
        way.bytes_per_s = 400_000
        await way.open()
        for _ in range(3):
            passed = way.passed
            await eventually(lambda passed=passed: way.passed > passed + 100_000, mesh["thor"])
            way.break_off()
        await mesh["thor"].crash()
        await have(mesh, texts, "thor")
        assert mesh.texts("thor") == texts


async def test_links_are_listed_with_what_each_side_lacks(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        linked = {
            "host": "thor",
            "state": "linked",
            "channels": None,
            "lacking_here": [],
            "lacking_there": [],
        }
        await eventually(lambda: linked.items() <= list_links(mesh["spark"])[0].items(), mesh["spark"])
        mesh.ways["spark-thor"].cut()
        await eventually(lambda: list_links(mesh["spark"])[0]["state"] == "apart", mesh["spark"])


def list_links(manager: Manager) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "culture.ctl.main", "list-links", "--json", "--config"]
    done = subprocess.run(
        [*command, str(manager.directory / "ircd.yaml")], capture_output=True, text=True, timeout=30
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
