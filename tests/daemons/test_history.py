"""culture-ircd as a process: what anybody read is in history, whatever happens to the server or its disk."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from support.irc import Plain, connected
from support.linked import eventually
from support.program import DEADLINE_S, Program

TALKERS = 5
CAPS = "draft/message-redaction echo-message message-tags"


def msgid_of(line: str) -> str:
    return line.split("msgid=")[1].split(" ")[0]


@contextlib.asynccontextmanager
async def running(
    home: Path, state: Path, yaml: str = "", env: dict[str, str] | None = None
) -> AsyncIterator[tuple[Program, int]]:
    (home / "ircd.yaml").write_text(f"name: spark\nstate_dir: {state}\nlisten: ['127.0.0.1:0']\n{yaml}")
    program = Program("culture.daemons.ircd", home=home, env=env)
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


def fill(ballast: Path) -> None:
    """The rest of the disk."""
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


async def test_a_full_disk_refuses_messages_and_heals_when_space_returns(tmp_path: Path, small_disk: Path):
    async with (
        running(tmp_path, small_disk) as (program, port),
        connected(port, "spark-ori", "#ops", caps="standard-replies") as ori,
        connected(port, "spark-bo", "#ops") as bo,
    ):
        ballast = small_disk / "ballast"
        fill(ballast)
        for number in range(200):
            ori.send(f"PRIVMSG #ops :{number} {'y' * 400}")
        ori.send("PING full")
        await ori.until("FAIL PRIVMSG NOT_RECORDED")
        await program.says("messages are refused until they can be recorded")
        await ori.until("PONG")
        ballast.unlink()
        ori.send("PRIVMSG #ops :back again")
        await bo.until("back again")
        await program.says("messages are accepted again")
        told = [line.rpartition(" :")[2] for line in bo.seen if " PRIVMSG #ops :" in line]
        assert await history_of(port, "#ops") == told
        assert program.process.poll() is None


async def test_a_server_that_is_started_on_a_full_disk_refuses_messages_until_space_returns(
    tmp_path: Path, small_disk: Path
):
    async with running(tmp_path, small_disk) as (_, port), connected(port, "spark-ori", "#ops") as ori:
        ori.send("PRIVMSG #ops :before", "PING x")
        await ori.until("PONG")
        await eventually(lambda: [*small_disk.rglob("reserve")])
    fill(small_disk / "ballast")
    async with (
        running(tmp_path, small_disk) as (program, port),
        connected(port, "spark-ori", "#ops", caps="standard-replies") as ori,
    ):
        await program.says("the disk is full: the space reserved for a start is used up")
        fill(small_disk / "more")
        for _ in range(20):
            ori.send(f"PRIVMSG #ops :{'y' * 400}")
        await ori.until("FAIL PRIVMSG NOT_RECORDED")
        (small_disk / "ballast").unlink()
        ori.send("PRIVMSG #ops :back again", "PING y")
        await ori.until("PONG")
        told = [text for text in await history_of(port, "#ops") if "y" not in text]
        assert told == ["before", "back again"]
        await eventually(lambda: [*small_disk.rglob("reserve")])


def files_with(directory: Path, text: bytes) -> list[Path]:
    found = []
    for path in directory.rglob("*"):
        # Files come and go while we look.
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found += [path] if text in path.read_bytes() else []
    return found


async def test_what_was_taken_back_is_soon_in_no_file(tmp_path: Path):
    state, skills = tmp_path / "state", "skills: [history, profiles, urlindex, logger]\n"
    async with (
        running(tmp_path, state, skills) as (_, port),
        connected(port, "spark-ori", "#ops", caps=CAPS) as ori,
    ):
        ori.send("PRIVMSG #ops :see https://example.org/?key=hunter2", "PRIVMSG #ops :something else")
        echo = await ori.until(" PRIVMSG ")
        await eventually(lambda: len(files_with(state, b"hunter2")) >= 3)
        ori.send(f"REDACT #ops {msgid_of(echo)}")
        await ori.until(" REDACT ")
        await eventually(lambda: not files_with(state, b"hunter2"))
        assert await history_of(port, "#ops") == ["something else"]
        (log,) = (state / "logger" / "#ops").glob("*.log")
        assert log.read_text().splitlines()[1].endswith(" -- redacted by spark-ori")


async def told_next(manager: socket.socket, within_s: float = DEADLINE_S) -> bytes:
    return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(manager, 4096), within_s)


async def silence(manager: socket.socket) -> None:
    """Until the watchdog could have been fed ten times, and was not."""
    with contextlib.suppress(TimeoutError):
        while True:
            await told_next(manager, within_s=1.0)


async def test_a_disk_that_hangs_starves_the_watchdog(tmp_path: Path):
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "300000"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(env["NOTIFY_SOCKET"])
        manager.setblocking(False)
        async with (
            asyncio.timeout(DEADLINE_S),
            running(tmp_path, tmp_path, env=env) as (_, port),
            connected(port, "spark-ori", "#ops", caps=CAPS) as ori,
        ):
            ori.send("PRIVMSG #ops :oops")
            echo = await ori.until(" PRIVMSG ")
            # The next file of the journal is a pipe that nobody reads; to forget something begins it.
            os.mkfifo(tmp_path / "history" / "journal-00000002")
            ori.send(f"REDACT #ops {msgid_of(echo)}")
            await ori.until(" REDACT ")
            for _ in range(300):
                ori.send(f"PRIVMSG #ops :{'y' * 400}")
            ori.send("PING done")
            await silence(manager)
            pipe = os.open(tmp_path / "history" / "journal-00000002", os.O_RDONLY | os.O_NONBLOCK)
            asyncio.get_running_loop().add_reader(pipe, os.read, pipe, 65536)
            await ori.until(" PONG ")
            while await told_next(manager) != b"WATCHDOG=1":
                pass
            asyncio.get_running_loop().remove_reader(pipe)
    os.close(pipe)
