"""How soon an agent's backend is asked after it was mentioned.

One at a time and in turns: a mention to an agent, then a line to a plain client, on one server. What
the second takes is what the network and the machine take; the rest is ours.
"""

import asyncio
import socket
import tempfile
import time
from pathlib import Path

from figures import percentiles_ms
from network import DEADLINE_S, Plain, ircd, plain_client

from culture.agent.contract import AgentRunnerBase
from culture.agent.daemon import AgentDaemon
from culture.config.address import TcpAddress
from culture.config.agents import AgentConfig
from culture.net.listeners import listening


class Stamps(AgentRunnerBase):
    """A backend that notes when it was asked."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[float] = asyncio.Queue()

    async def start(self, initial_prompt: str = "") -> None: ...

    async def stop(self) -> None: ...

    async def send_prompt(self, text: str) -> None:
        self.asked.put_nowait(time.perf_counter())

    def is_running(self) -> bool:
        return True

    @property
    def session_id(self) -> str | None:
        return None

    async def end_turn(self) -> None:
        assert self.on_message is not None
        done = {"type": "result", "failed": False, "error": "", "asked": True}
        await self.on_message({**done, "cost_usd": None, "duration_ms": 0, "usage": {}})


async def measure(count: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="culture-") as directory:
        home = Path(directory)
        with listening([f"unix:{home}/agent.sock"], []) as [listener]:
            async with ircd(home) as port:
                mentions, plain = await _measure(port, listener, count)
    told, baseline = percentiles_ms(mentions), percentiles_ms(plain)
    return {
        "mention to send_prompt": told,
        "plain delivery, in the same run": baseline,
        "ratio of p50": round(told["p50"] / baseline["p50"], 2),
        "ratio of p99": round(told["p99"] / baseline["p99"], 2),
        "count": count,
    }


async def _measure(port: int, listener: socket.socket, count: int) -> tuple[list[float], list[float]]:
    runner, ready = Stamps(), asyncio.Event()
    config = AgentConfig(nick="spark-claude", channels=("#general",))
    daemon = AgentDaemon(config, TcpAddress("127.0.0.1", port), runner, listener)
    running = asyncio.create_task(daemon.run(ready.set))
    async with asyncio.timeout(DEADLINE_S):
        await ready.wait()
    delivered: asyncio.Queue[float] = asyncio.Queue()

    def received(line: bytes, at: float) -> None:
        if b" PRIVMSG #plain " in line:
            delivered.put_nowait(at)

    await plain_client(port, "spark-bo", "#plain", received)
    sender = await plain_client(port, "spark-ori", "#general,#plain")
    mentions, plain = [], []
    for number in range(count):
        text = b"look at the disk, number %d" % number
        mentions.append(await _seconds(sender, b"PRIVMSG #general :@spark-claude " + text, runner.asked))
        await runner.end_turn()
        plain.append(await _seconds(sender, b"PRIVMSG #plain :" + text, delivered))
    daemon.stop()
    await running
    return mentions, plain


async def _seconds(sender: Plain, line: bytes, arrived: asyncio.Queue[float]) -> float:
    began = time.perf_counter()
    sender.send(line)
    async with asyncio.timeout(DEADLINE_S):
        return await arrived.get() - began
