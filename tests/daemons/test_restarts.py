"""culture-ircd is restarted, or killed, and its clients notice nothing."""

import asyncio
import re
import signal
import ssl
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest
from support.certificates import make_pair
from support.irc import Plain, connected
from support.manager import Manager, managed

pytestmark = pytest.mark.slow

TEXT = "text.ircv3.net"
Again = pytest.mark.parametrize("again", [Manager.restart, Manager.crash])


@Again
async def test_clients_by_tcp_and_by_unix_socket_notice_nothing(tmp_path: Path, again):
    async with (
        managed(tmp_path) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.connect_unix(), "spark-bo", "#a", caps="server-time message-tags") as bo,
    ):
        await ori.until("JOIN")
        ori.send("TOPIC #a :tea", "MODE #a +v spark-bo")
        await bo.until("MODE")
        await manager.keeps(2)

        for _ in range(3):
            await again(manager)

            ori.send("PRIVMSG #a :still here")
            assert (await bo.read()).endswith(" :spark-ori!ori@spark PRIVMSG #a :still here")
            bo.send("NAMES #a", "TOPIC #a")
            assert (await bo.read()).endswith(":spark 353 spark-bo = #a :@spark-ori +spark-bo")
            assert (await bo.until(" 332 ")).endswith(":tea")
            await bo.until(" 333 ")


async def _idle(asker: Plain, nick: str) -> tuple[int, str]:
    """For how long, and since when they are here."""
    asker.send(f"WHOIS {nick}")
    line = await asker.until(" 317 ")
    await asker.until(" 318 ")
    idle, signed_on = line.split(" ")[4:6]
    return int(idle), signed_on


async def test_who_was_idle_still_is(tmp_path: Path):
    async with managed(tmp_path) as manager, connected(manager.port(), "spark-ori", "#a") as ori:
        await manager.keeps(1)
        while (before := await _idle(ori, "spark-ori"))[0] < 1:
            pass
        await manager.restart()
        idle, signed_on = await _idle(ori, "spark-ori")
        assert idle >= before[0]
        assert signed_on == before[1]


@Again
async def test_what_is_sent_meanwhile_is_heard_afterwards(tmp_path: Path, again):
    async with (
        managed(tmp_path) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.port(), "spark-bo", "#a") as bo,
    ):
        await manager.keeps(2)
        await manager.end(signal.SIGTERM if again is Manager.restart else signal.SIGKILL)
        ori.send("PRIVMSG #a :is anybody there")
        async with asyncio.TaskGroup() as tasks:
            newcomer = tasks.create_task(_join(manager, "spark-kit"))
            await manager.start()
        assert await bo.read() == ":spark-ori!ori@spark PRIVMSG #a :is anybody there"
        assert await bo.read() == ":spark-kit!kit@spark JOIN #a"
        await newcomer.result().close()


async def _join(manager: Manager, nick: str) -> Plain:
    plain = Plain(*await asyncio.open_connection("127.0.0.1", manager.port()))
    plain.send(f"NICK {nick}", f"USER {nick.rpartition('-')[2]} 0 * :{nick}", "JOIN #a")
    await plain.until(" 366 ")
    return plain


@Again
async def test_half_a_line_is_completed_afterwards(tmp_path: Path, again):
    async with managed(tmp_path) as manager, connected(manager.port(), "spark-ori", "#a") as ori:
        await manager.keeps(1)
        ori.writer.write(b"PING one\r\nPING t")
        await ori.until("PONG spark :one")
        await again(manager)
        ori.writer.write(b"wo\r\n")
        assert await ori.read() == ":spark PONG spark :two"
        ori.writer.write(b"PING three\r\nQUIT :" + b"x" * 600)
        await ori.until("PONG spark :three")
        await again(manager)
        ori.writer.write(b"x\r\nPING four\r\n")
        assert " 417 " in await ori.read()
        assert await ori.read() == ":spark PONG spark :four"


@Again
async def test_who_is_still_registering_goes_on(tmp_path: Path, again):
    async with managed(tmp_path) as manager:
        plain = Plain(*await asyncio.open_connection("127.0.0.1", manager.port()))
        plain.send("CAP LS 302", "NICK spark-ori", "CAP REQ :echo-message")
        await plain.until(" ACK ")
        await manager.keeps(1)
        await again(manager)
        plain.send("USER ori 0 * :Ori", "CAP END")
        assert " 001 spark-ori " in await plain.read()
        plain.send("PRIVMSG spark-ori :me")
        assert await plain.until(" PRIVMSG ") == ":spark-ori!ori@spark PRIVMSG spark-ori :me"
        await plain.close()


async def test_lines_that_wait_for_their_turn_are_heard_by_the_next_process(tmp_path: Path):
    slowly = "limits: {local_rate_lines_per_s: 1, local_burst_lines: 20}\n"
    async with managed(tmp_path, slowly) as manager, connected(manager.port(), "spark-ori", "#a") as ori:
        ori.send(*(f"PING {number}" for number in range(40)))
        await ori.until("PONG spark :3")
        await manager.restart()
        ori.seen.clear()
        await ori.until("PONG spark :35")
        heard = [int(line.rpartition(":")[2]) for line in ori.seen]
        assert heard == list(range(4, 36))


async def test_a_reader_that_is_behind_gets_every_line_once(tmp_path: Path):
    async with (
        managed(tmp_path) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.connect_unix(), "spark-slow", "#a") as slow,
    ):
        await manager.keeps(2)
        slow.writer.transport.pause_reading()
        for start in range(0, 1600, 400):
            ori.send(*(f"PRIVMSG #a :{start + i} {'x' * 400}" for i in range(400)), f"PING {start}")
            await ori.until(f"PONG spark :{start}")
            await manager.restart()
        slow.writer.transport.resume_reading()
        for number in range(1600):
            assert (await slow.read()).startswith(f":spark-ori!ori@spark PRIVMSG #a :{number} x")


async def test_a_reader_that_is_behind_gets_whole_lines_after_a_crash(tmp_path: Path):
    async with (
        managed(tmp_path) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.connect_unix(), "spark-slow", "#a") as slow,
    ):
        await manager.keeps(2)
        slow.writer.transport.pause_reading()
        for start in range(0, 1600, 400):
            ori.send(*(f"PRIVMSG #a :{start + i} {'x' * 400}." for i in range(400)), f"PING {start}")
            await ori.until(f"PONG spark :{start}")
            await manager.crash()
        slow.writer.transport.resume_reading()
        ori.send("PRIVMSG #a :over")
        last = -1
        while not (line := await slow.read()).endswith(":over"):
            found = re.fullmatch(r":spark-ori!ori@spark PRIVMSG #a :(\d+) x{400}\.", line)
            assert found, f"not a whole line: {line}"
            assert int(found[1]) > last
            last = int(found[1])
        assert last >= 400


@Again
async def test_a_websocket_goes_on_also_in_the_middle_of_a_frame(tmp_path: Path, again):
    async with (
        managed(tmp_path, names=("irc", "irc-ws")) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        aiohttp.ClientSession() as web,
        web.ws_connect(f"ws://127.0.0.1:{manager.port('irc-ws')}/", protocols=(TEXT,)) as browser,
    ):
        for line in ("NICK spark-bo", "USER bo 0 * :Bo", "JOIN #a"):
            await browser.send_str(line)
        await ori.until("spark-bo!bo@spark JOIN #a")
        while " 366 " not in await browser.receive_str():
            pass
        # FIN and text; masked with zeroes, 21 bytes; the frame is cut in the middle of what it carries.
        frame = b"\x81\x95\0\0\0\0PRIVMSG #a :in halves"
        transport = browser._writer.transport  # what is sent in parts no library sends
        transport.write(b"\x89\x80\0\0\0\0" + frame[:15])
        ori.send("PRIVMSG #a :ready")
        assert (await browser.receive_str()).endswith(":ready")
        await manager.keeps(2)

        await again(manager)

        transport.write(frame[15:])
        assert await ori.until("PRIVMSG") == ":spark-bo!bo@spark PRIVMSG #a :in halves"
        ori.send("PRIVMSG #a :all of it")
        assert await browser.receive_str() == ":spark-ori!ori@spark PRIVMSG #a :all of it"


async def test_who_left_meanwhile_is_seen_to_quit(tmp_path: Path):
    async with managed(tmp_path) as manager, connected(manager.port(), "spark-ori", "#a") as ori:
        async with connected(manager.port(), "spark-bo", "#a"):
            await ori.until("JOIN")
            await manager.keeps(2)
            await manager.end(signal.SIGKILL)
        await manager.start()
        assert (await ori.read()).startswith(":spark-bo!bo@spark QUIT :")


async def test_a_client_by_tls_is_told_why_it_has_to_come_again(tmp_path: Path):
    pair = make_pair(tmp_path, "spark")
    config = f"tls: {{certificate: {pair.certificate}, key: {pair.key}}}\n"
    async with (
        managed(tmp_path, config, names=("irc", "irc-tls")) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
    ):
        trusting = ssl.create_default_context(cafile=str(pair.certificate))
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", manager.port("irc-tls"), ssl=trusting, server_hostname="spark"
        )
        bo = Plain(reader, writer)
        bo.send("NICK spark-bo", "USER bo 0 * :Bo", "JOIN #a")
        await bo.until(" 366 ")
        await manager.restart()
        assert await bo.until("ERROR") == "ERROR :Closing Link: spark (Server is restarting)"
        assert await ori.until("QUIT") == ":spark-bo!bo@spark QUIT :Server is restarting"
        await bo.close()


async def test_an_interrupt_is_the_end_and_says_goodbye(tmp_path: Path):
    async with (
        managed(tmp_path) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.port(), "spark-bo", "#a") as bo,
    ):
        await ori.until("JOIN")
        assert await manager.end(signal.SIGINT) == 0
        for client in (ori, bo):
            # Nobody is told who else has to go.
            assert await client.read() == "ERROR :Closing Link: spark (Server is stopping)"
            assert await client.read() == ""
        assert not (tmp_path / "sessions").exists()


@pytest.mark.parametrize("state", ['{"culture-ircd":"spark","format":0}\n', "", "nonsense"])
async def test_state_that_is_not_understood_closes_cleanly(tmp_path: Path, state: str):
    async with managed(tmp_path) as manager, connected(manager.port(), "spark-ori", "#a") as ori:
        await manager.end(signal.SIGTERM)
        (tmp_path / "sessions").write_text(state)
        await manager.start()
        assert (await ori.read()).startswith("ERROR :Closing Link: spark (")
        assert await ori.read() == ""
        assert "1 unknown ones are closed" in manager.journal
        async with connected(manager.port(), "spark-ori"):
            pass


async def test_who_is_beyond_what_is_kept_is_told(tmp_path: Path):
    async with (
        managed(tmp_path, room=1) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.port(), "spark-bo", "#a") as bo,
    ):
        await manager.restart()
        assert await bo.until("ERROR") == "ERROR :Closing Link: spark (Server is restarting)"
        assert await ori.until("QUIT") == ":spark-bo!bo@spark QUIT :Server is restarting"


async def test_who_is_not_kept_is_seen_to_quit_after_a_crash(tmp_path: Path):
    async with (
        managed(tmp_path, room=1) as manager,
        connected(
            manager.port(), "spark-ori", "#a", caps="batch draft/chathistory draft/event-playback"
        ) as ori,
        connected(manager.port(), "spark-bo", "#a"),
    ):
        await ori.until("JOIN")
        ori.send("MONITOR + spark-bo")
        await ori.until(" 730 ")
        await manager.keeps(1)
        await manager.crash()
        assert await ori.read() == ":spark-bo!bo@spark QUIT :Connection lost in a restart of the server"
        assert await ori.read() == ":spark 731 spark-ori :spark-bo"
        await manager.crash()
        ori.send("CHATHISTORY LATEST #a * 5", "NAMES #a")
        assert await ori.until(" 353 ") == ":spark 353 spark-ori = #a :@spark-ori"
        assert sum(" QUIT :Connection lost" in line for line in ori.seen) == 2, "when it was, and in history"


async def test_a_websocket_in_the_middle_of_a_message_that_is_far_too_long_is_closed(
    tmp_path: Path, eventually
):
    async with (
        managed(tmp_path, names=("irc", "irc-ws")) as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        aiohttp.ClientSession() as web,
        web.ws_connect(f"ws://127.0.0.1:{manager.port('irc-ws')}/", protocols=(TEXT,)) as browser,
    ):
        for line in ("NICK spark-bo", "USER bo 0 * :Bo", "JOIN #a"):
            await browser.send_str(line)
        while " 366 " not in await browser.receive_str():
            pass
        # FIN and text; masked with zeroes, 200,000 bytes, of which not all come.
        transport = browser._writer.transport  # what is sent in parts no library sends
        transport.write(b"\x81\xff" + (200_000).to_bytes(8, "big") + b"\0\0\0\0" + b"x" * 150_000)
        await manager.keeps(2)
        await eventually(lambda: '["lost",' in (tmp_path / "sessions").read_text())

        await manager.restart()

        message = await browser.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1012)
        assert (await ori.until("QUIT")).endswith(" QUIT :Connection lost in a restart of the server")


@Again
async def test_who_sends_without_a_pause_is_never_misunderstood(tmp_path: Path, again):
    async with (
        managed(tmp_path, "limits: {local_rate_lines_per_s: 0}\n") as manager,
        connected(manager.port(), "spark-ori", "#a") as ori,
        connected(manager.port(), "spark-bo", "#a") as bo,
    ):
        await ori.until("JOIN")
        await manager.keeps(2)
        for start in range(0, 30_000, 10_000):
            ori.send(*(f"PRIVMSG #a :{start + i} {'x' * 100}." for i in range(10_000)))
            await bo.until(f"PRIVMSG #a :{start} ")
            await again(manager)
        ori.send("PRIVMSG #a :over")
        await bo.until(":over")
        said = [line for line in bo.seen if " PRIVMSG " in line]
        heard = [re.fullmatch(r":spark-ori!ori@spark PRIVMSG #a :(\d+) x{100}\.", line) for line in said[:-1]]
        numbers = [int(found[1]) for found in heard if found]
        assert len(numbers) == len(heard), "all of them are whole"
        assert all(earlier < later for earlier, later in pairwise(numbers))
        if again is Manager.restart:
            assert numbers == list(range(30_000))
        ori.send("PING x")
        assert await ori.read() == ":spark PONG spark :x"
