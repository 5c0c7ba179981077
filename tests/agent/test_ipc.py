"""The agent's socket: who may ask, and what becomes of what is no request."""

import asyncio
import json
import os
import subprocess

import pytest

from culture.agent import ipc
from culture.net.listeners import listening


async def echo(request: dict) -> dict:
    return {"echo": request.get("say")}


@pytest.fixture
async def path(home):
    path = home / "agent.sock"
    server = ipc.IpcServer(echo)
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
        writer.write(b"x" * (ipc.LINE_BYTES * 2 + 1))
        received = await reader.readline()
        writer.close()
        return json.loads(received)

    assert "at most" in (await endless())["error"]


async def test_half_a_request_is_not_carried_out(path):
    assert await answers(path, b'{"id": "a", "say": 1}') == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_refused_even_if_the_socket_lets_it_in(path, home):
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

    assert "answers its own user and root only" in nobody.stdout
