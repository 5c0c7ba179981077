"""A real client, as people have it: irssi in a terminal, plain and by TLS, connects, talks and is called."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import connected

from culture.protocol.line import parse_line

DEADLINE_S = 20.0

pytestmark = pytest.mark.skipif(
    not shutil.which("irssi") or not shutil.which("tmux"), reason="irssi and tmux are not installed"
)

# An @ before one's nick is no mention to irssi unless it looks everywhere in a line. By itself it types no
# faster than a line in two seconds, and takes keys that come as fast as ours for a paste, with its tabs.
CONFIG = """\
settings = {{
  core = {{ nick = "spark-ori"; user_name = "ori"; real_name = "Ori"; }};
  "irc/core" = {{ cmd_queue_speed = "10msec"; }};
  "fe-common/core" = {{ hilight_nick_matches_everywhere = "yes"; }};
  "fe-text" = {{ paste_detect_time = "0msec"; }};
}};
chatnets = {{ spark = {{ type = "IRC"; }}; }};
servers = ( {{
  address = "localhost"; port = "{port}"; chatnet = "spark"; autoconnect = "yes"; family = "inet";
  use_tls = "{tls}"; tls_verify = "{tls}"; tls_cafile = "{certificate}";
}} );
"""


class Irssi:
    """Typed at and looked at as a person would, in a terminal of its own."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def tmux(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-S", str(self._home / "tmux"), "-f", "/dev/null", *command),
            stdout=asyncio.subprocess.PIPE,
        )
        answer, _ = await process.communicate()
        return answer.decode()

    async def type(self, text: str) -> None:
        await self.tmux("send-keys", "-l", text)
        await self.tmux("send-keys", "Enter")

    async def shows(self, part: str) -> str:
        """The line on the screen that holds this, with its colours."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                screen = await self.tmux("capture-pane", "-p", "-e")
                for line in screen.splitlines():
                    if part in re.sub(r"\x1b\[[0-9;]*m", "", line):
                        return line
                await asyncio.sleep(0.02)


@pytest.fixture(params=["no", "yes"], ids=["plain", "tls"])
async def irssi(request, tmp_path: Path, server) -> AsyncIterator[Irssi]:
    port = server.tls_port if request.param == "yes" else server.port
    config = CONFIG.format(port=port, tls=request.param, certificate=server.certificate)
    (tmp_path / "config").write_text(config)
    irssi = Irssi(tmp_path)
    await irssi.tmux("new-session", "-d", "-x", "150", "-y", "40", f"irssi --home={tmp_path}")
    yield irssi
    await irssi.tmux("kill-server")


async def test_irssi_connects_joins_talks_and_is_called(request, server, irssi: Irssi):
    async with connected(server.port, "spark-bo", "#general", caps="message-tags") as bo:
        await irssi.shows("welcome")
        await irssi.type("/join #general")
        assert ":spark-ori!ori@spark " in await bo.until("JOIN")
        assert server.is_secure("spark-ori") is request.node.callspec.id.endswith("tls")

        await irssi.type("hello @spark-bo ☃")
        assert (await bo.until("PRIVMSG")).endswith(" PRIVMSG #general :hello @spark-bo ☃")

        # As its Tab key completes a nick, with either of the characters that people set.
        for character in ":,":
            await irssi.type(f"/set completion_char {character}")
            await irssi.tmux("send-keys", "-l", "spark-b")
            await irssi.tmux("send-keys", "Tab")
            await irssi.type("are you there?")
            line = await bo.until("are you there")
            assert line.endswith(f" PRIVMSG #general :spark-bo{character} are you there?")
            assert parse_line(line).tags["agentirc.dev/mentions"] == "spark-bo"

        bo.send("PRIVMSG #general :nothing special", "PRIVMSG #general :well, @spark-ori, look")
        called, _, _ = (await irssi.shows("well, @spark-ori, look")).partition("well")
        plain, _, _ = (await irssi.shows("nothing special")).partition("nothing")
        assert called != plain

        bo.send("MODE #general +o spark-ori", "TOPIC #general :all about snow")
        await irssi.shows("all about snow")
        await irssi.type("/topic all about rain")
        assert ":spark-ori!" in await bo.until("TOPIC #general :all about rain")

        await irssi.type("/quit good night")
        assert (await bo.until("QUIT")).endswith(" QUIT :Quit: good night")
