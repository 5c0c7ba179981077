"""People who talk without end in channels of ten, and know what they should have heard."""

import asyncio
import contextlib
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from socket import socket

from support.irc import Plain

SEATS = 10
PAUSE_S = 0.1
DEADLINE_S = 60.0
_SAID = re.compile(r":spark-(\w+)!\w+@spark PRIVMSG (#\w+) :(\d+|over)")


class Talker:
    """Says 0, 1, 2 … in its channel, and writes down what the others say there."""

    def __init__(self, plain: Plain, number: int) -> None:
        self.plain = plain
        self.name = f"t{number}"
        self.channel = f"#c{number // SEATS}"
        self.heard: dict[str, list[int]] = defaultdict(list)
        self.over: set[str] = set()
        self.said = 0
        # All that it got and did not expect.
        self.lines: list[str] = []

    async def register(self) -> None:
        self.plain.send(
            f"NICK spark-{self.name}", f"USER {self.name} 0 * :{self.name}", f"JOIN {self.channel}"
        )
        await self.plain.until(f" 366 spark-{self.name} {self.channel} ")

    async def talk(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self.plain.send(f"PRIVMSG {self.channel} :{self.said}")
            self.said += 1
            await asyncio.sleep(PAUSE_S)

    async def listen(self, until_over: set[str]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not until_over <= self.over:
                line = (await self.plain.reader.readline()).decode()
                assert line, f"{self.name} was disconnected after {self.lines[-3:]}"
                if found := _SAID.fullmatch(line.rstrip("\r\n")):
                    who, where, what = found.groups()
                    assert where == self.channel
                    if what == "over":
                        self.over.add(who)
                    else:
                        self.heard[who].append(int(what))
                elif not re.match(r":\S+ JOIN ", line):
                    self.lines.append(line)


@contextlib.asynccontextmanager
async def gathered(connect: Callable[[], socket], talkers: int) -> AsyncIterator[list[Talker]]:
    found: list[Talker] = []
    try:
        for number in range(talkers):
            plain = Plain(*await asyncio.open_connection(sock=connect()))
            found.append(Talker(plain, number))
            await found[-1].register()
        yield found
    finally:
        for talker in found:
            await talker.plain.close()


async def talk_while(talkers: list[Talker], act: Callable[[], None]) -> None:
    """They talk while something is done with the server, and until everybody heard that it is over."""
    by_channel: dict[str, set[str]] = defaultdict(set)
    for talker in talkers:
        by_channel[talker.channel].add(talker.name)
        talker.over.clear()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for talker in talkers:
            tasks.create_task(talker.listen(by_channel[talker.channel] - {talker.name}))
        talking = [tasks.create_task(talker.talk(stop)) for talker in talkers]
        await asyncio.to_thread(act)
        stop.set()
        await asyncio.wait(talking)
        for talker in talkers:
            talker.plain.send(f"PRIVMSG {talker.channel} :over")
