"""`culturectl up` as a person runs it, with the real programs."""

import contextlib
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from culture.ctl.up.processes import descendants, parent_pids

NO_AGENTS = "server: {name: spark}\nagents: []\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "agents.yaml").write_text(NO_AGENTS)
    return home


def port_of(running) -> int:
    """The port in the line that says how to connect; 0 before it is there."""
    found = re.search(r"^  irssi -c 127.0.0.1 -p (\d+) -n spark-you ", running.said, re.MULTILINE)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def connected(port: int) -> Iterator[TextIO]:
    """What a client reads and writes after it has introduced itself as spark-you."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client, client.makefile("rw") as stream:
        stream.write("NICK spark-you\r\nUSER you 0 * :You\r\n")
        stream.flush()
        yield stream


async def test_the_invitation_is_true_and_ctrl_c_leaves_nothing(
    culturectl, home, start, eventually, is_running
):
    up = start([culturectl, "up", "--home", str(home), "--port", "0"])
    port = await eventually(lambda: port_of(up), within_s=30)

    with connected(port) as irc:
        assert " 001 spark-you " in irc.readline()

    children = {int(pid) for pid in re.findall(r"culture-(?:ircd|rehearsal)\[(\d+)\]: ", up.said)}
    assert len(children) == 2
    up.signal(signal.SIGINT)
    assert up.wait() == 0
    assert not any(is_running(child) for child in children)
    assert sorted(path.name for path in (home / "run").iterdir()) == ["ircd.yaml", "lock"]


async def test_a_first_try_ends_in_an_answer_and_leaves_nothing(
    culturectl, tmp_path, start, eventually, is_running
):
    up = start([culturectl, "up", "--home", str(tmp_path / "new"), "--port", "0"])
    port = await eventually(lambda: port_of(up), within_s=45)

    with connected(port) as irc:
        irc.write("JOIN #general\r\nPRIVMSG #general :@spark-claude hello\r\n")
        irc.flush()
        answer = next(
            line for line in irc if line.startswith(":spark-claude!") and " PRIVMSG #general :" in line
        )
        assert "spark-you: hello!" in answer

    everything = descendants(up.pid, parent_pids())
    # The model, the server, the agent, and the CLI that it runs.
    assert len(everything) >= 4
    up.signal(signal.SIGINT)
    assert up.wait() == 0
    assert [pid for pid in everything if is_running(pid)] == []


async def test_when_it_is_killed_all_goes_along(culturectl, tmp_path, start, eventually, is_running):
    up = start([culturectl, "up", "--home", str(tmp_path / "new"), "--port", "0"])
    await eventually(lambda: port_of(up), within_s=45)
    everything = descendants(up.pid, parent_pids())

    up.signal(signal.SIGKILL)

    assert len(everything) >= 4
    await eventually(lambda: not any(is_running(pid) for pid in everything))


def test_a_wrong_file_is_told_by_line_before_anything_starts(culturectl, home, start):
    (home / "ircd.yaml").write_text("name: spark\nlisten: 6667\n")

    up = start([culturectl, "up", "--home", str(home)])

    assert up.wait() == 78
    assert up.said == f"culturectl: {home}/ircd.yaml:2: 'listen': expected a list, found '6667'\n"


def test_a_taken_port_is_one_line_and_a_hint(culturectl, home, start):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        (home / "ircd.yaml").write_text(f'name: spark\nlisten: ["127.0.0.1:{port}"]\n')

        up = start([culturectl, "up", "--home", str(home)])

        assert up.wait() == 69
    *_, told, hint = up.said.splitlines()
    assert told.startswith(f"culturectl: port {port} is in use by ")
    assert told.endswith(f"(process {os.getpid()})")
    assert hint == f"hint: stop the program that uses it, or choose another port: --port {port + 1}"


async def test_a_second_up_in_the_same_home_is_refused(culturectl, home, start, eventually):
    first = start([culturectl, "up", "--home", str(home), "--port", "0"])
    await eventually(lambda: port_of(first), within_s=30)

    second = start([culturectl, "up", "--home", str(home), "--port", "0"])

    assert second.wait() == 69
    assert f"'{home}' is in use by process {first.pid}" in second.said


def test_live_without_a_login_says_what_to_do(culturectl, home, start, tmp_path):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    none = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "CLAUDE_CODE_OAUTH_TOKEN": ""}
    up = start([culturectl, "up", "--live", "--home", str(home)], HOME=str(tmp_path), **none)

    assert up.wait() == 69
    assert up.said.startswith(
        f"culturectl: --live needs a key or a Claude login, and there is neither\nhint: CULTURE_HOME={home} "
    )
    assert "culturectl login spark-claude, or export ANTHROPIC_API_KEY=…" in up.said


def servers_of(up) -> set[int]:
    return set(map(int, re.findall(r"culture-ircd\[(\d+)\]: ", up.said)))


async def test_a_server_that_is_killed_disconnects_nobody(culturectl, home, start, eventually):
    up = start([culturectl, "up", "--home", str(home), "--port", "0"])
    port = await eventually(lambda: port_of(up), within_s=30)
    with connected(port) as irc:
        assert " 001 spark-you " in irc.readline()
        killed: set[int] = set()
        for _ in range(2):
            (pid,) = await eventually(lambda: servers_of(up) - killed)
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
            irc.write("PING again\r\n")
            irc.flush()
            assert next(line for line in irc if "PONG" in line) == ":spark PONG spark :again\n"
        up.signal(signal.SIGINT)
        assert up.wait() == 0
        assert irc.readlines() == ["ERROR :Closing Link: spark (Server is stopping)\n"]
    assert sorted(path.name for path in (home / "run").iterdir()) == ["ircd.yaml", "lock"]
