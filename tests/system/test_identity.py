"""Who somebody is on the server of a host: the users of agents tell them from people and from each other."""

import pytest
from support.irc import connected
from system.agents import SERVICE, USER, start_agent
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

from culture.systemd.journal import MESSAGE_IDS

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

# Types the lines and prints what the server says until the answer to the last one.
CLIENT = """
import socket, sys
unix, *lines = sys.argv[1:]
sock = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
sock.settimeout(20)
sock.connect(unix or ("127.0.0.1", 6667))
sock.sendall("".join(line + "\\r\\n" for line in [*lines, "PING over", "QUIT"]).encode())
for line in sock.makefile():
    print(line.strip())
"""
SOCKET = "/run/culture/ircd.sock"


@pytest.fixture
def claude(spark: Host) -> Host:
    """A host where spark-claude is on the network, and spark-codex has a user too."""
    start_agent(spark)
    spark.systemctl("start", "culture-agent-user@spark-codex.service")
    return spark


def said_to(host: Host, user: str, by: str, *lines: str) -> str:
    command = ("runuser", "--user", user, "--", "python3", "-c", CLIENT, SOCKET if by == "unix" else "")
    return host.run(*command, *lines).stdout


@pytest.mark.parametrize("by", ["unix", "tcp"])
def test_an_agent_is_nobody_else_and_the_journal_tells(claude: Host, by: str):
    told = said_to(claude, "culture-spark-codex", by, "NICK spark-ori", "NICK spark-claude", "USER x 0 * :x")
    assert ":spark 900 * *!*@spark spark-codex :You are now logged in as spark-codex" in told
    assert told.count("432 * spark-") == 2
    assert " 001 " not in told

    told = said_to(claude, "culture-spark-codex", by, "NICK spark-codex", "USER x 0 * :x", "OPER root x")
    assert " 001 spark-codex " in told
    assert "491 spark-codex :Agents cannot be operators of the server" in told

    entries = claude.journal(f"MESSAGE_ID={MESSAGE_IDS['impersonation-refused']}")
    assert len(entries) == 3
    assert {entry["CULTURE_UNIX_USER"] for entry in entries} == {"culture-spark-codex"}


@pytest.mark.parametrize("by", ["unix", "tcp"])
def test_nobody_else_is_the_agent_whether_or_not_it_is_here(claude: Host, by: str):
    for _ in range(2):
        told = said_to(claude, "root", by, "NICK spark-claude", "USER x 0 * :x")
        assert "433 * spark-claude :Nickname is reserved to an agent of this host" in told
        claude.systemctl("stop", SERVICE)


async def test_the_agent_that_runs_is_logged_in_and_a_restart_of_the_server_changes_nothing(claude: Host):
    async with connected(claude.connect(6667), "spark-ori") as ori:
        for _ in range(2):
            ori.send("WHOIS spark-claude")
            assert "spark-claude spark-claude" in await ori.until(" 330 ")
            await ori.until(" 318 ")
            claude.systemctl("restart", "culture-ircd.service")
    entries = eventually(
        lambda: claude.journal(f"MESSAGE_ID={MESSAGE_IDS['login-succeeded']}", f"CULTURE_UNIX_USER={USER}"),
        within_s=5,
        what="the journal has the login",
    )
    assert {entry["CULTURE_MECHANISM"] for entry in entries} == {"agent"}
