"""Four booted hosts with cables between them, which are pulled, or swallow everything, while people talk.

CULTURE_MESH_S says for how many seconds: 60 for what the documents promise.
"""

import asyncio
import contextlib
import itertools
import os
import random
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.irc import Plain, connected
from support.linked import rows_of
from system.conftest import Lab
from system.hostlab.cables import Cable
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

SERVICE = "culture-ircd.service"
NAMES = ("spark", "thor", "orin", "ec2")
SECONDS = float(os.environ.get("CULTURE_MESH_S", "20"))
PORT = 6670
HEALS_WITHIN_S = 120
CHANNEL = "#ops"

Cables = dict[tuple[str, str], Cable]


class Fleet:
    """All four, each with a cable to every other. Which links they make of them is said anew by each test."""

    def __init__(self, hosts: dict[str, Host], cables: Cables) -> None:
        self.hosts = hosts
        self.cables = cables

    def link(self, *pairs: tuple[str, str]) -> None:
        """These, and no others; with an empty history, and whole cables."""
        for cable in self.cables.values():
            cable.mend()
        for name, host in self.hosts.items():
            lines = [f"name: {name}\nlisten: ['0.0.0.0:{PORT}']\nlinks:\n"]
            for pair in pairs:
                if name in pair:
                    peer = pair[0] if name == pair[1] else pair[1]
                    address = self.cables[pair].address(self.hosts[peer])
                    link = f"name: {peer}, secret_credential: {peer}, address: '{address}:{PORT}'"
                    lines.append(f"  - {{{link}}}\n")
                    # Each link has a secret of its own.
                    host.write(f"/etc/culture/credentials/{peer}", f"sesame of {'-'.join(pair)}")
                    host.run("chmod", "600", f"/etc/culture/credentials/{peer}")
            host.systemctl("stop", "culture-ircd.socket", SERVICE)
            host.run("rm", "-rf", "/var/lib/culture/ircd/history")
            host.write("/etc/culture/ircd.yaml", "".join(lines) if len(lines) > 1 else f"name: {name}\n")
        for host in self.hosts.values():
            host.systemctl("start", SERVICE)

    def history(self, name: str) -> list[tuple[Any, ...]]:
        host = self.hosts[name]
        host.run("sh", "-c", "rm -f /root/copy && culturectl history backup /root/copy", timeout_s=180)
        with tempfile.NamedTemporaryFile() as copy:
            shutil.copyfile(host.path("/root/copy"), copy.name)
            return rows_of(name, Path(copy.name), CHANNEL)

    def texts(self, name: str) -> list[str]:
        return [row[10] for row in self.history(name) if row[4] == "PRIVMSG"]

    async def agree(self, *names: str) -> None:
        """Row by row, in the same order."""
        await asyncio.to_thread(
            eventually,
            lambda: len({str(self.history(name)) for name in names}) == 1,
            within_s=HEALS_WITHIN_S,
            what=f"{', '.join(names)} have the same history",
        )


@pytest.fixture(scope="module")
def fleet(lab: Lab, installed: Path) -> Iterator[Fleet]:
    with contextlib.ExitStack() as undo:
        hosts = {name: undo.enter_context(lab.boot(installed, name=name)) for name in NAMES}
        cables = {
            (one, other): Cable(hosts[one], hosts[other]) for one, other in itertools.combinations(NAMES, 2)
        }
        yield Fleet(hosts, cables)


@contextlib.asynccontextmanager
async def people(fleet: Fleet, names: Sequence[str] = NAMES) -> AsyncIterator[dict[str, Plain]]:
    """One on each host, who see each other."""
    async with contextlib.AsyncExitStack() as undo:
        found = {
            name: await undo.enter_async_context(
                connected(fleet.hosts[name].connect(6667), f"{name}-ori", CHANNEL)
            )
            for name in names
        }
        await see_each_other(found)
        yield found


async def see_each_other(clients: dict[str, Plain]) -> None:
    """All of them, and nobody else."""
    wanted = {f"{name}-ori" for name in clients}
    async with asyncio.timeout(HEALS_WITHIN_S):
        for client in clients.values():
            seen: set[str] = set()
            while seen != wanted:
                client.send(f"NAMES {CHANNEL}")
                seen = set(re.sub("[@+]", "", (await client.until(" 353 ")).rpartition(":")[2]).split())
                await asyncio.sleep(0.1)


async def talk(client: Plain, name: str, stop: asyncio.Event) -> list[str]:
    said = []
    while not stop.is_set():
        said.append(f"{name} {len(said)}")
        client.send(f"PRIVMSG {CHANNEL} :{said[-1]}")
        await asyncio.sleep(0.05)
    return said


async def listen(client: Plain) -> None:
    """What nobody reads stops a client after a while."""
    while await client.reader.readline():
        pass


async def disturb(fleet: Fleet, seconds: float, chance: random.Random) -> None:
    """Cables break in one way or the other, also several at a time, and are mended."""
    async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
        while True:
            await asyncio.sleep(chance.uniform(0.5, 3))
            cable = chance.choice([*fleet.cables.values()])
            if not cable.is_cut:
                tasks.create_task(cut_for(cable, chance.uniform(0.5, 20), is_silent=chance.random() < 0.5))


async def cut_for(cable: Cable, seconds: float, *, is_silent: bool) -> None:
    try:
        await asyncio.to_thread(cable.swallow if is_silent else cable.pull)
        await asyncio.sleep(seconds)
    finally:
        cable.mend()


async def test_traffic_with_random_cuts_ends_in_the_same_history_everywhere(fleet: Fleet):
    fleet.link(*fleet.cables)
    async with people(fleet) as clients:
        stop = asyncio.Event()
        listening = [asyncio.create_task(listen(client)) for client in clients.values()]
        talking = [asyncio.create_task(talk(client, name, stop)) for name, client in clients.items()]
        with contextlib.suppress(TimeoutError):
            await disturb(fleet, SECONDS, random.Random(5))
        stop.set()
        said = [text for texts in await asyncio.gather(*talking) for text in texts]
        for task in listening:
            task.cancel()
        await asyncio.wait(listening)
        await fleet.agree(*NAMES)
        for name in NAMES:
            found = fleet.texts(name)
            assert sorted(found) == sorted(said)
        await see_each_other(clients)


@pytest.mark.parametrize("is_silent", [False, True])
async def test_a_host_that_was_cut_off_gets_all_of_it_and_gives_all_of_it(fleet: Fleet, is_silent: bool):
    fleet.link(*fleet.cables)
    cables = [cable for pair, cable in fleet.cables.items() if "ec2" in pair]
    async with people(fleet) as clients:
        for cable in cables:
            (cable.swallow if is_silent else cable.pull)()
        await see_each_other({name: client for name, client in clients.items() if name != "ec2"})
        for name, client in clients.items():
            client.send(*(f"PRIVMSG {CHANNEL} :{name} {number}" for number in range(20)))
        for cable in cables:
            cable.mend()
        await see_each_other(clients)
        await fleet.agree(*NAMES)
        assert len(fleet.texts("ec2")) == 80


async def test_a_host_that_is_killed_in_the_middle_of_a_replay_goes_on_with_it(fleet: Fleet):
    fleet.link(*fleet.cables)
    orin = fleet.hosts["orin"]
    async with people(fleet, ("spark", "thor")) as clients:
        orin.systemctl("stop", "culture-ircd.socket", SERVICE)
        texts = [f"message {number}" for number in range(4000)]
        clients["spark"].send(*(f"PRIVMSG {CHANNEL} :{text}" for text in texts))
        await clients["thor"].until(texts[-1])
        orin.systemctl("start", SERVICE)
        for _ in range(3):
            await asyncio.to_thread(
                eventually, lambda: len(fleet.texts("orin")) > 0, within_s=30, what="it has begun"
            )
            orin.systemctl("kill", "--signal=KILL", SERVICE)
        await fleet.agree("spark", "thor", "orin", "ec2")
        assert fleet.texts("orin") == texts


async def test_in_a_chain_the_ends_know_all_that_the_other_end_said(fleet: Fleet):
    fleet.link(("spark", "thor"), ("thor", "orin"))
    chain = ("spark", "thor", "orin")
    async with people(fleet, chain) as clients:
        fleet.cables["thor", "orin"].pull()
        await see_each_other({name: client for name, client in clients.items() if name != "orin"})
        for name, client in clients.items():
            client.send(*(f"PRIVMSG {CHANNEL} :{name} {number}" for number in range(20)))
        fleet.cables["thor", "orin"].mend()
        await see_each_other(clients)
        await fleet.agree(*chain)
        assert len(fleet.texts("orin")) == 60
        clients["spark"].send("PRIVMSG orin-ori :between us")
        await clients["orin"].until(":spark-ori!ori@spark PRIVMSG orin-ori :between us")
