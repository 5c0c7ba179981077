"""The IRC server is restarted and killed while people talk.

CULTURE_TALKERS and CULTURE_IDLE say how many there are: 200 and 1000 for what the documents promise.
"""

import asyncio
import contextlib
import json
import os
import time
from collections import Counter
from itertools import pairwise

import pytest
from support.irc import Plain, connected
from system.hostlab.host import Host
from system.hostlab.waiting import eventually
from system.talk import gathered, talk_while

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

SERVICE = "culture-ircd.service"
TALKERS = int(os.environ.get("CULTURE_TALKERS", "30"))
IDLE = int(os.environ.get("CULTURE_IDLE", "100"))


def restarted(spark: Host) -> None:
    spark.systemctl("restart", SERVICE)


def killed(spark: Host) -> None:
    before = spark.property(SERVICE, "NRestarts")
    spark.systemctl("kill", "--signal=KILL", SERVICE)
    eventually(
        lambda: (
            spark.property(SERVICE, "NRestarts") != before
            and spark.property(SERVICE, "ActiveState") == "active"
        ),
        within_s=20,
        what="it runs again",
    )


def in_tcp_and_unix(spark: Host):
    """Connects by the one and by the other, in turn."""
    ways = [lambda: spark.connect(6667), lambda: spark.connect_unix("/run/culture/ircd.sock")]
    while True:
        yield from ways


async def test_restarts_lose_and_repeat_no_line_and_disconnect_nobody(spark: Host):
    ways = in_tcp_and_unix(spark)
    async with gathered(lambda: next(ways)(), TALKERS) as talkers:
        for _ in range(3):
            await talk_while(talkers, lambda: restarted(spark))
        for talker in talkers:
            for other in talkers:
                if other is not talker and other.channel == talker.channel:
                    assert talker.heard[other.name] == list(range(other.said))
        assert [line for talker in talkers for line in talker.lines] == []


async def test_crashes_disconnect_nobody_and_repeat_no_line(spark: Host):
    ways = in_tcp_and_unix(spark)
    async with gathered(lambda: next(ways)(), TALKERS) as talkers:
        for _ in range(3):
            await talk_while(talkers, lambda: killed(spark))
        for talker in talkers:
            for other, heard in talker.heard.items():
                assert all(earlier < later for earlier, later in pairwise(heard)), f"from {other}: {heard}"
        assert [line for talker in talkers for line in talker.lines] == []
        recorded = await said_in_history(spark)
        assert all(times == 1 for (_, text), times in recorded.items() if text != "over")
        for talker in talkers:
            for other, heard in talker.heard.items():
                assert {(other, str(number)) for number in heard} <= recorded.keys()


async def said_in_history(spark: Host) -> Counter[tuple[str, str]]:
    """Who said what, and how often it is there."""
    async with connected(spark.connect(6667), "spark-reader") as reader:
        # Whoever asks gets all that was said before; an export has what was filed by then.
        reader.send("HISTORY RECENT #c0 1")
        await reader.until(" HISTORYEND ")
    events = map(json.loads, spark.run("culturectl", "history", "export").stdout.splitlines())
    said = [(event["source"], event["text"]) for event in events if event["command"] == "PRIVMSG"]
    return Counter((mask.partition("!")[0].removeprefix("spark-"), text) for mask, text in said)


async def test_many_idle_clients_go_on_too(spark: Host):
    async with contextlib.AsyncExitStack() as stack:
        idle = [
            await stack.enter_async_context(connected(spark.connect(6667), f"spark-i{number}"))
            for number in range(IDLE)
        ]
        for again in (restarted, killed) * 3:
            began = time.monotonic()
            await asyncio.to_thread(again, spark)
            for each in idle:
                each.send("PING :still here")
            await asyncio.gather(*(each.until(" PONG spark :still here") for each in idle))
            took_s = time.monotonic() - began
            print(f"{again.__name__} with {IDLE} clients: {took_s:.2f} s until all answered")
        assert spark.property(SERVICE, "NFileDescriptorStore") == str(IDLE)


async def test_to_stop_it_is_to_say_goodbye(spark: Host):
    async with connected(spark.connect(6667), "spark-ori", "#a") as ori:
        spark.systemctl("stop", SERVICE)
        assert await ori.read() == "ERROR :Closing Link: spark (Server is stopping)"
        assert await ori.read() == ""
        assert spark.property(SERVICE, "NFileDescriptorStore") == "0"
        assert not spark.path("/run/culture/ircd").exists()


async def test_who_leaves_is_not_kept(spark: Host):
    async with connected(spark.connect(6667), "spark-ori", "#a") as ori:
        async with connected(spark.connect(6667), "spark-bo", "#a"):
            pass
        await ori.until("QUIT")
        eventually(
            lambda: spark.property(SERVICE, "NFileDescriptorStore") == "1", within_s=5, what="one is kept"
        )
        leaving = Plain(*await asyncio.open_connection(sock=spark.connect(6667)))
        leaving.send("QUIT")
        await leaving.until("ERROR")
        assert await leaving.read() == ""
        await leaving.close()
