"""The `irc` program, run as an agent and as a person runs it."""

import asyncio
import os
import sys

import pytest
from support.irc import connected

from culture.agent import ipc
from culture.net.listeners import listening


async def irc(*words: str, stdin: str = "", **env: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "culture.agent.skill.irc", *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **env},
    )  # fmt: skip
    async with asyncio.timeout(30):
        out, err = await process.communicate(stdin.encode())
    return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
def own(agent) -> dict[str, str]:
    """The environment of the agent's session."""
    return {"CULTURE_NICK": "spark-claude", "CULTURE_SOCKET": str(agent.socket)}


async def test_an_agent_speaks_and_reads(ircd, own):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        assert await irc("send", "#general", "hello", "there", **own) == (0, "sent\n", "")
        assert (await ori.until("PRIVMSG")).endswith(":hello there")

        ori.send("PRIVMSG #general :hi yourself", "PING x")
        await ori.until("PONG")

        status, out, _ = await irc("read", "#general", **own)
        assert status == 0
        assert [line.partition(" ")[2] for line in out.splitlines()] == [
            "<spark-claude> hello there",
            "<spark-ori> hi yourself",
        ]


async def test_text_comes_from_standard_input_too_and_may_look_like_options(ircd, own):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        assert await irc("send", "#general", "-", stdin="one\n\ntwo\n", **own) == (0, "sent as 2 lines\n", "")
        assert (await ori.until("PRIVMSG")).endswith(":one")
        assert (await ori.until("PRIVMSG")).endswith(":two")
        assert (await irc("send", "#general", "--nick", "-v", **own))[0] == 0
        assert (await ori.until("PRIVMSG")).endswith(":--nick -v")


async def test_a_person_names_the_agent(agent, home):
    env = {"XDG_RUNTIME_DIR": str(home), "CULTURE_SOCKET": "/nowhere", "CULTURE_NICK": "spark-other"}
    (home / "culture-spark-claude.sock").symlink_to(agent.socket)

    status, out, _ = await irc("--nick", "spark-claude", "whoami", **env)

    assert status == 0
    assert out.startswith("spark-claude, connected to 127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 64, "a verb is missing"),
        (["sing"], 64, "unknown verb 'sing'"),
        (["send"], 64, "hint: irc send '#general' 'hello', with the quotes"),
        (["read"], 64, "hint: irc read '#general' 20, with the quotes"),
        (["read", "#general", "many"], 64, "may have a number"),
        (["whoami", "now"], 64, "whoami takes no arguments"),
        (["send", "spark-nobody", "hi"], 69, "irc: 'spark-nobody': No such nick"),
        (["send", "#no where", "hi"], 64, "neither a channel nor a nick"),
    ],
)
async def test_what_is_wrong_is_said_with_its_exit_status(own, words, status, said):
    code, out, err = await irc(*words, **own)

    assert (code, out) == (status, "")
    assert said in err


async def test_without_an_agent_it_asks_which():
    status, _, err = await irc("whoami")

    assert status == 64
    assert "which agent?" in err


async def test_help_needs_no_agent():
    status, out, _ = await irc("--help")

    assert status == 0
    assert "send TARGET TEXT" in out


async def test_a_call_during_a_restart_waits(home, eventually):
    """The socket comes before the agent, as under a service manager, and the path before the socket."""
    path = home / "spark-claude.sock"
    call = asyncio.create_task(irc("status", CULTURE_NICK="spark-claude", CULTURE_SOCKET=str(path)))

    async def back(request: dict) -> dict:
        return {"status": "back again"}

    with listening([f"unix:{path}"], []) as [listener]:
        server = ipc.IpcServer(back)
        await server.start(listener)
        assert await call == (0, "back again\n", "")
        await server.stop()


async def test_an_agent_that_dies_before_it_answers_is_a_reason_to_try_again(home):
    path = home / "spark-claude.sock"

    async def hang(request: dict) -> dict:
        asked.set()
        await asyncio.Event().wait()
        return {}

    asked = asyncio.Event()
    with listening([f"unix:{path}"], []) as [listener]:
        server = ipc.IpcServer(hang)
        await server.start(listener)
        call = asyncio.create_task(irc("status", CULTURE_NICK="spark-claude", CULTURE_SOCKET=str(path)))
        await asked.wait()
        await server.stop()
        status, _, err = await call

    assert status == 75
    assert "stopped before it answered" in err
