"""Services in the foreground: small real programs, started, watched, restarted and stopped."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Reads a list of services and runs them, each in a stage of its own.
DRIVER = """
import asyncio, json, os, socket, sys
from pathlib import Path
from culture.ctl.up.child_process import Service
from culture.ctl.up.foreground import Stage, run_in_foreground
from culture.ctl.up.console import Console
from culture.systemd.sockets import Passed

run = Path(sys.argv[1])
stages = []
for said in json.loads(sys.argv[2]):
    sockets = tuple(Passed(name, socket.create_server(("127.0.0.1", 0))) for name in said.get("sockets", []))
    for each in sockets:
        print("port", each.name, each.socket.getsockname()[1], flush=True)
    service = Service(
        said["name"], (sys.executable, *said["command"]), os.environ,
        run / (said["name"] + ".notify"), sockets,
        start_s=said.get("start_s", 20), stop_s=said.get("stop_s", 20),
    )
    stages.append(Stage([service], essential=said.get("essential", True)))
console = Console(sys.stdout, "spark", os.getpid())
announce = lambda ready: console.announce("all ready: " + " ".join(each.name for each in ready))
sys.exit(asyncio.run(run_in_foreground(stages, console, announce)))
"""

STEADY = """
import os, signal
from culture.systemd.notify import Notifier
from culture.systemd.sockets import passed_sockets

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("pid", os.getpid(), flush=True)
for each in passed_sockets(os.environ):
    print("got", each.name, each.socket.getsockname()[1], flush=True)
Notifier(os.environ).ready("doing well")
signal.sigwait([signal.SIGTERM])
print("goodbye", flush=True)
"""

# Its orphan leaves the session, lost its parent, and does not listen to SIGTERM.
LEAVES_AN_ORPHAN = """
import os, signal, subprocess, sys
from culture.systemd.notify import Notifier

stubborn = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('orphan', os.getpid(), flush=True); signal.pause()"
leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {stubborn!r}], start_new_session=True)"
subprocess.run([sys.executable, "-W", "ignore", "-c", leave], check=True)
print("pid", os.getpid(), flush=True)
Notifier(os.environ).ready("")
signal.pause()
"""  # noqa: E501

NEVER_STOPS = """
import os, signal
from culture.systemd.notify import Notifier

signal.signal(signal.SIGTERM, signal.SIG_IGN)
Notifier(os.environ).ready("")
while True:
    signal.pause()
"""


@pytest.fixture
def run_services(start: Any, tmp_path: Path) -> Callable[..., Any]:
    """`run_services({"name": …, "program": source, …}, …)`"""

    def run(*services: dict[str, Any]) -> Any:
        for each in services:
            program = tmp_path / f"{each['name']}.py"
            program.write_text(each.pop("program"))
            each["command"] = [str(program), *each.get("arguments", [])]
        return start([sys.executable, "-c", DRIVER, str(tmp_path), json.dumps(services)])

    return run


def number_after(word: str, running: Any) -> int:
    """The number in the last line that begins with this word; 0 when there is none yet."""
    found = [line.split()[-1] for line in running.lines if line.startswith(f"{word} ")]
    return int(found[-1]) if found else 0


async def test_sockets_and_the_notify_socket_arrive(run_services, eventually):
    running = run_services({"name": "ircd", "program": STEADY, "sockets": ["irc", "more"]})

    await eventually(lambda: "all ready: ircd" in running.said)

    assert "ircd is ready: doing well" in running.lines
    ports = [line.removeprefix("port ") for line in running.lines if line.startswith("port ")]
    assert [line.removeprefix("got ") for line in running.lines if line.startswith("got ")] == ports
    assert [port.split()[0] for port in ports] == ["irc", "more"]


async def test_lines_of_children_look_like_the_journal(run_services, eventually):
    running = run_services({"name": "ircd", "program": STEADY})

    await eventually(lambda: "all ready" in running.said)

    pid = number_after("pid", running)
    line = next(line for line in running.said.splitlines() if line.endswith(f"pid {pid}"))
    assert line.split(" ", 3)[3] == f"spark ircd[{pid}]: pid {pid}"


async def test_a_stage_waits_until_the_one_before_is_ready(run_services, eventually, tmp_path):
    go = tmp_path / "go"
    os.mkfifo(go)
    waits = f"open({str(go)!r}).read()\n{STEADY}"
    running = run_services(
        {"name": "first", "program": f"print('waiting', flush=True)\n{waits}"},
        {"name": "second", "program": STEADY},
    )
    await eventually(lambda: "waiting" in running.said)
    assert "second" not in running.said

    go.write_text("")
    await eventually(lambda: "all ready: first second" in running.said)

    assert running.lines.index("first is ready: doing well") < running.lines.index(
        "second is ready: doing well"
    )


async def test_a_service_that_is_never_ready_is_stopped_and_started_again(run_services, eventually):
    running = run_services({"name": "mute", "program": "import signal; signal.pause()", "start_s": 0.2})

    await eventually(lambda: "restarting it in 2 s" in running.said)

    assert running.lines[:2] == [
        "mute was not ready within 0.2 s",
        "mute was killed by SIGTERM; restarting it in 1 s",
    ]


async def test_a_killed_service_is_started_again_and_its_orphans_are_ended(
    run_services, eventually, is_running
):
    running = run_services({"name": "agent", "program": LEAVES_AN_ORPHAN})
    await eventually(lambda: "all ready" in running.said and number_after("orphan", running))
    child, orphan = number_after("pid", running), number_after("orphan", running)

    os.kill(child, signal.SIGKILL)
    await eventually(lambda: number_after("pid", running) != child)

    assert "agent was killed by SIGKILL; restarting it in 1 s" in running.lines
    assert not is_running(orphan)


@pytest.mark.parametrize("status", [64, 77, 78])
def test_a_status_that_will_not_change_ends_all_with_its_reason_told(run_services, status):
    running = run_services(
        {"name": "first", "program": STEADY},
        {"name": "second", "program": f"import sys; sys.stderr.write('no such key'); sys.exit({status})"},
    )

    assert running.wait() == status

    assert running.lines[-3:] == [
        "no such key",
        f"second exited with status {status}; it is not restarted",
        "goodbye",
    ]


async def test_the_rest_goes_on_without_a_service_that_is_not_essential(run_services, eventually):
    running = run_services(
        {"name": "first", "program": STEADY},
        {"name": "second", "program": "raise SystemExit(78)", "essential": False},
    )

    await eventually(lambda: "all ready: first\n" in running.said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_stops_all_in_reverse_order(run_services, eventually, number):
    running = run_services({"name": "first", "program": STEADY}, {"name": "second", "program": STEADY})
    await eventually(lambda: "all ready" in running.said)

    running.signal(number)

    assert running.wait() == 0
    names = [line.split()[4].partition("[")[0] for line in running.said.splitlines() if "goodbye" in line]
    assert names == ["second", "first"]


async def test_nothing_is_left_running(run_services, eventually, is_running):
    running = run_services({"name": "agent", "program": LEAVES_AN_ORPHAN})
    await eventually(lambda: "all ready" in running.said and number_after("orphan", running))

    running.signal(signal.SIGINT)

    assert running.wait() == 0
    assert not is_running(number_after("orphan", running))
    assert not is_running(number_after("pid", running))


async def test_a_service_that_does_not_stop_is_killed(run_services, eventually):
    running = run_services({"name": "stubborn", "program": NEVER_STOPS, "stop_s": 0.2})
    await eventually(lambda: "all ready" in running.said)

    running.signal(signal.SIGINT)

    assert running.wait() == 0
    assert running.lines[-1] == "stubborn did not stop within 0.2 s; killing it"


async def test_asked_twice_it_kills_at_once(run_services, eventually):
    running = run_services({"name": "stubborn", "program": NEVER_STOPS, "stop_s": 600})
    await eventually(lambda: "all ready" in running.said)

    running.signal(signal.SIGINT)
    await eventually(lambda: running.lines[-1] == "stopping")
    running.signal(signal.SIGINT)

    assert running.wait() == 0
    # Nothing is said to be started again, and no traceback ends it.
    assert running.lines[-1] == "stopping"


async def test_asked_twice_nothing_that_was_killed_is_started_again(run_services, eventually):
    running = run_services(
        {"name": "first", "program": STEADY},
        {"name": "stubborn", "program": NEVER_STOPS, "stop_s": 600},
    )
    await eventually(lambda: "all ready" in running.said)

    running.signal(signal.SIGINT)
    await eventually(lambda: running.lines[-1] == "stopping")
    running.signal(signal.SIGINT)

    assert running.wait() == 0
    assert running.lines[-1] == "stopping"


async def test_a_stop_while_starting_stops_all(run_services, eventually, is_running):
    running = run_services(
        {
            "name": "mute",
            "program": "import os, signal; print('pid', os.getpid(), flush=True); signal.pause()",
        }
    )
    await eventually(lambda: number_after("pid", running))

    running.signal(signal.SIGTERM)

    assert running.wait() == 0
    assert not is_running(number_after("pid", running))


async def test_children_go_along_when_we_are_killed(run_services, eventually, is_running):
    running = run_services({"name": "first", "program": STEADY}, {"name": "second", "program": STEADY})
    await eventually(lambda: "all ready" in running.said)
    children = [int(line.split()[-1]) for line in running.lines if line.startswith("pid ")]

    running.signal(signal.SIGKILL)

    assert len(children) == 2
    await eventually(lambda: not any(is_running(child) for child in children))
