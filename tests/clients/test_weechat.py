"""A real client, as people have it: weechat, plain and by TLS, connects, joins, talks and is called."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.irc import connected

from culture.protocol.line import parse_line

WEECHAT = shutil.which("weechat-headless")
HAS_FIFO = any(Path("/usr/lib").glob("*/weechat/plugins/fifo.so"))
Eventually = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.skipif(
    WEECHAT is None or not HAS_FIFO, reason="weechat-headless and weechat-plugins are not installed"
)


class Weechat:
    """Typed at through its FIFO, read through its log."""

    def __init__(self, home: Path, eventually: Eventually) -> None:
        self._fifo = home / "fifo"
        self._logs = home / "logs"
        self._eventually = eventually

    async def type(self, buffer: str, text: str) -> None:
        await self._eventually(self._fifo.exists)
        self._fifo.write_text(f"{buffer} *{text}\n")

    async def shows(self, buffer: str, part: str) -> str:
        log = self._logs / f"irc.{buffer}.weechatlog"

        def found() -> str | None:
            lines = log.read_text().splitlines() if log.exists() else []
            return next((line for line in lines if part in line), None)

        return await self._eventually(found)


@pytest.fixture(params=["plain", "tls"])
async def weechat(request, tmp_path: Path, server, eventually: Eventually) -> AsyncIterator[Weechat]:
    port, tls = (server.tls_port, "-ssl") if request.param == "tls" else (server.port, "-nossl")
    commands = [
        "/set fifo.file.enabled on",
        f"/set fifo.file.path {tmp_path}/fifo",
        "/set logger.level.irc 9",
        "/set logger.file.flush_delay 0",
        f"/set logger.file.path {tmp_path}/logs",
        f"/set weechat.network.gnutls_ca_user {server.certificate}",
        f"/server add spark localhost/{port} {tls}",
        "/set irc.server.spark.ipv6 off",
        "/set irc.server.spark.nicks spark-ori",
        "/connect spark",
    ]
    options = [option for command in commands for option in ("-r", command)]
    process = await asyncio.create_subprocess_exec(
        *(str(WEECHAT), "--dir", str(tmp_path), *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    yield Weechat(tmp_path, eventually)
    # A /quit has ended it already.
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await process.wait()


async def test_weechat_connects_joins_talks_and_is_called(request, server, weechat: Weechat):
    async with connected(server.port, "spark-bo", "#general", caps="message-tags") as bo:
        await weechat.shows("server.spark", "welcome")
        await weechat.type("irc.server.spark", "/join #general")
        assert ":spark-ori!" in await bo.until("JOIN")
        assert server.is_secure("spark-ori") is request.node.callspec.id.endswith("tls")
        await weechat.shows("spark.#general", "spark-ori")

        await weechat.type("irc.spark.#general", "hello @spark-bo")
        line = await bo.until("PRIVMSG")
        assert parse_line(line).tags["agentirc.dev/mentions"] == "spark-bo"
        assert line.endswith(" PRIVMSG #general :hello @spark-bo")

        # As its Tab key completes a nick, at the beginning of a line.
        await weechat.type("irc.spark.#general", "/input insert spark-b")
        await weechat.type("irc.spark.#general", "/input complete_next")
        await weechat.type("irc.spark.#general", "/input insert are you there?")
        await weechat.type("irc.spark.#general", "/input return")
        line = await bo.until("are you there")
        assert parse_line(line).tags["agentirc.dev/mentions"] == "spark-bo"
        assert line.endswith(" PRIVMSG #general :spark-bo: are you there?")

        bo.send("PRIVMSG #general :@spark-ori ☃ hello yourself")
        assert (await weechat.shows("spark.#general", "☃")).endswith(
            "\t@spark-bo\t@spark-ori ☃ hello yourself"
        )

        bo.send("TOPIC #general :all about snow")
        await weechat.shows("spark.#general", "all about snow")

        await weechat.type("irc.spark.#general", "/quit good night")
        assert (await bo.until("QUIT")).endswith(" QUIT :Quit: good night")


@pytest.mark.parametrize("weechat", ["plain"], indirect=True)
async def test_weechat_reads_history_when_it_is_asked_for(server, weechat: Weechat):
    async with connected(server.port, "spark-bo", "#general") as bo:
        bo.send("PRIVMSG #general :said before they came", "PING done")
        await bo.until("PONG")
        await weechat.shows("server.spark", "welcome")
        await weechat.type("irc.server.spark", "/join #general")
        await weechat.shows("spark.#general", "spark-ori")
        await weechat.type("irc.spark.#general", "/quote CHATHISTORY LATEST #general * 20")
        assert (await weechat.shows("spark.#general", "said before")).endswith("\tsaid before they came")
        await weechat.type("irc.spark.#general", "/quote HELP HISTORY")
        await weechat.shows("server.spark", "HISTORY RECENT")
        await weechat.type("irc.spark.#general", "/quote HISTORY RECENT #general 5")
        await weechat.shows("server.spark", "said before they came")
