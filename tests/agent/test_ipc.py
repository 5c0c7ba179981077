"""The agent's socket: who may ask, what becomes of what is no request, and of who does not wait."""

import asyncio
import json
import os
import subprocess

import pytest

from culture.agent.tools import ipc
from culture.agent.tools.whispers import Whispers
from culture.net.listen.listeners import listening


class Daemon:
    """Gives back what is said to it, or takes its time."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.given_up = asyncio.Event()
        self.whispers = Whispers()

    async def answer(self, request: dict) -> dict:
        if request.get("say") == "wait":
            self.asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.set()
        return {"echo": request["say"]}


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
async def path(home, daemon):
    path = home / "agent.sock"
    server = ipc.IpcServer(daemon.answer, daemon.whispers, idle_s=5, proof="own")
    with listening([f"unix:{path}"], []) as [listener]:
        await server.start(listener)
        yield path
        await server.stop()


async def answers(path, *lines: bytes) -> list[dict]:
    """What comes back until the server, or the end of what was asked, closes the connection."""
    reader, writer = await asyncio.open_unix_connection(str(path), limit=2**20)
    writer.write(b"".join(lines))
    writer.write_eof()
    async with asyncio.timeout(10):
        received = await reader.read()
    writer.close()
    await writer.wait_closed()
    return [json.loads(line) for line in received.splitlines()]


async def test_each_request_is_answered_under_its_id(path):
    one, two = await answers(path, b'{"id": "a", "say": 1}\n{"id": "b", "say": 2}\n')

    assert (one["id"], one["data"]) == ("a", {"echo": 1})
    assert (two["id"], two["data"]) == ("b", {"echo": 2})


@pytest.mark.parametrize("line", [b"hello\n", b"[1]\n", b"\xff\n", b"\n", b"[" * 100_000 + b"\n"])
async def test_what_is_no_json_object_is_refused_and_the_next_one_served(path, line):
    refused, served = await answers(path, line, b'{"id": "b", "say": 2}\n')

    assert (refused["ok"], refused["exit_status"]) == (False, 64)
    assert served["data"] == {"echo": 2}


async def test_an_endless_line_is_refused_and_the_connection_closed(path):
    async def endless() -> list[dict]:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b"x" * (ipc.MAX_LINE_BYTES * 2 + 1))
        received = await reader.readline()
        writer.close()
        return json.loads(received)

    assert "at most" in (await endless())["error"]


async def test_half_a_request_is_not_carried_out(path):
    assert await answers(path, b'{"id": "a", "say": 1}') == []


async def test_a_bug_costs_one_answer(path, caplog):
    broken, served = await answers(path, b'{"id": "a"}\n{"id": "b", "say": 2}\n')

    assert (broken["exit_status"], broken["error"]) == (70, "internal error; see the journal")
    assert served["data"] == {"echo": 2}
    assert "KeyError" in caplog.text


async def test_whispers_come_with_the_next_answer_once(path, daemon):
    daemon.whispers.add("you tried this\n3 times", "CORRECTION")
    daemon.whispers.add("look at the log", "THINK_DEEPER")

    first, second, answer = await answers(path, b'{"id": "a", "say": 1, "proof": "own"}\n')
    assert first == {"type": "whisper", "whisper_type": "CORRECTION", "message": "you tried this 3 times"}
    assert second["whisper_type"] == "THINK_DEEPER"
    assert answer["data"] == {"echo": 1}

    assert len(await answers(path, b'{"id": "a", "say": 1, "proof": "own"}\n')) == 1


@pytest.mark.parametrize(
    "asked",
    [
        # Also as root, and as the agent's own user: only the skill in the agent's session has the proof.
        b'{"id": "a", "say": 1}\n',
        b'{"id": "a", "say": 1, "proof": ""}\n',
        b'{"id": "a", "say": 1, "proof": null}\n',
        b'{"id": "a", "say": 1, "proof": "guessed"}\n',
        b'{"id": "a", "say": 1, "proof": ["own"]}\n',
        b'{"id": "a", "say": 1, "by": "person", "proof": "own"}\n',
    ],
)
async def test_whispers_are_for_the_skill_of_the_agent_alone(path, daemon, asked):
    daemon.whispers.add("ask for help", "CORRECTION")

    (answer,) = await answers(path, asked)

    assert answer["data"] == {"echo": 1}
    assert len(daemon.whispers.take()) == 1


async def test_only_the_newest_whispers_are_kept(daemon):
    for number in range(30):
        daemon.whispers.add(f"number {number}", "CORRECTION")

    kept = daemon.whispers.take()
    assert [str(kept[0]), len(kept)] == ["[SUPERVISOR/CORRECTION] number 10", 20]


async def test_what_nobody_waits_for_is_given_up(path, daemon):
    _, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b'{"id": "a", "say": "wait"}\n')
    await daemon.asked.wait()

    writer.close()

    async with asyncio.timeout(10):
        await daemon.given_up.wait()


async def test_who_has_nothing_more_to_ask_still_gets_the_answer(path, daemon):
    """As `echo … | nc -NU socket` does."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b'{"id": "a", "say": "wait"}\n')
    writer.write_eof()
    await daemon.asked.wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await daemon.given_up.wait()
    assert not reader.at_eof()
    writer.close()


async def test_too_many_calls_at_once_are_told_to_come_later(path, daemon):
    held = [await asyncio.open_unix_connection(str(path)) for _ in range(ipc.MAX_CONNECTIONS)]
    for _, writer in held:
        writer.write(b'{"id": "a", "say": "wait"}\n')
    await daemon.asked.wait()

    (refused,) = await answers(path, b'{"id": "b", "say": 1}\n')

    assert (refused["id"], refused["exit_status"]) == ("b", 75)
    for _, writer in held:
        writer.close()


async def test_a_connection_that_asks_nothing_is_closed(home, daemon):
    server = ipc.IpcServer(daemon.answer, daemon.whispers, idle_s=0.01)
    with listening([f"unix:{home / 'idle.sock'}"], []) as [listener]:
        await server.start(listener)
        reader, writer = await asyncio.open_unix_connection(str(home / "idle.sock"))
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        await server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_refused_even_if_the_socket_lets_it_in(path, home, daemon):
    daemon.whispers.add("for the agent alone", "CORRECTION")
    for directory in (home, path.parent):
        directory.chmod(0o755)
    path.chmod(0o666)
    ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); s.sendall(b'{{}}\\n')"
    code = f"{ask}; print(s.recv(1000))"
    nobody = await asyncio.to_thread(
        subprocess.run,
        ["/usr/bin/python3", "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        user=65534,
        timeout=10,
        check=False,
    )

    assert "own user and root may use its socket" in nobody.stdout
    assert "for the agent alone" not in nobody.stdout
