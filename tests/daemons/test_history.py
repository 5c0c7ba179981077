"""culture-ircd as a process: what anybody read is in history, whatever happens to the server or its disk."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from support.irc import Plain, connected
from support.program import Program

TALKERS = 5


@contextlib.asynccontextmanager
async def running(home: Path, state: Path, yaml: str = "") -> AsyncIterator[tuple[Program, int]]:
    (home / "ircd.yaml").write_text(f"name: spark\nstate_dir: {state}\nlisten: ['127.0.0.1:0']\n{yaml}")
    program = Program("culture.daemons.ircd", home=home)
    try:
        port = int((await program.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        yield program, port
    finally:
        program.stop()


async def history_of(port: int, channel: str) -> list[str]:
    async with connected(port, "spark-reader") as reader:
        reader.send(f"HISTORY SINCE {channel} 1970-01-01T00:00:00.000Z 1000")
        await reader.until(" HISTORYEND ")
        return [line.partition("Z :")[2] for line in reader.seen if " HISTORY #" in line]


async def talk(client: Plain, name: str) -> None:
    """Until the connection ends."""
    with contextlib.suppress(ConnectionError):
        for number in range(150):
            client.send(f"PRIVMSG #ops :{name} {number}")
            await client.writer.drain()
            await asyncio.sleep(0)


async def listen(client: Plain, most: int, then: Callable[[], None]) -> list[str]:
    """What was read before the connection ended, which it does soon after so many messages."""
    texts: list[str] = []
    with contextlib.suppress(ConnectionError):
        while line := await client.read():
            if " PRIVMSG #ops :" in line:
                texts.append(line.rpartition(" :")[2])
                if len(texts) == most:
                    then()
    return texts


async def test_what_anybody_read_is_there_exactly_once_after_kill_9(tmp_path: Path):
    async with running(tmp_path, tmp_path) as (program, port), contextlib.AsyncExitStack() as stack:
        reader = await stack.enter_async_context(connected(port, "spark-ori", "#ops"))
        talkers = [
            await stack.enter_async_context(connected(port, f"spark-t{number}", "#ops"))
            for number in range(TALKERS)
        ]
        async with asyncio.TaskGroup() as tasks:
            heard = tasks.create_task(listen(reader, 100, program.process.kill))
            for number, talker in enumerate(talkers):
                tasks.create_task(talk(talker, f"t{number}"))
    read = heard.result()
    assert len(read) >= 100
    async with running(tmp_path, tmp_path) as (_, port):
        remembered = await history_of(port, "#ops")
    assert len(remembered) == len(set(remembered))
    assert set(read) <= set(remembered)


async def test_an_orderly_stop_forgets_nothing(tmp_path: Path):
    async with running(tmp_path, tmp_path) as (_, port), connected(port, "spark-ori", "#ops") as ori:
        ori.send("PRIVMSG #ops :one", "PRIVMSG #ops :see https://example.org/x", "PING done")
        await ori.until("PONG")
    async with running(tmp_path, tmp_path) as (_, port), connected(port, "spark-bo") as bo:
        assert await history_of(port, "#ops") == ["one", "see https://example.org/x"]
        bo.send("URLS :example")
        await bo.until(":https://example.org/x")


async def test_a_full_disk_refuses_messages_and_heals_when_space_returns(tmp_path: Path, small_disk: Path):
    async with (
        running(tmp_path, small_disk) as (program, port),
        connected(port, "spark-ori", "#ops", caps="standard-replies") as ori,
        connected(port, "spark-bo", "#ops") as bo,
    ):
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        for number in range(200):
            ori.send(f"PRIVMSG #ops :{number} {'y' * 400}")
        ori.send("PING full")
        await ori.until("FAIL PRIVMSG NOT_RECORDED")
        await program.says("messages are refused until they can be written down")
        await ori.until("PONG")
        ballast.unlink()
        ori.send("PRIVMSG #ops :back again")
        await bo.until("back again")
        await program.says("messages are taken again")
        told = [line.rpartition(" :")[2] for line in bo.seen if " PRIVMSG #ops :" in line]
        assert await history_of(port, "#ops") == told
        assert program.process.poll() is None
