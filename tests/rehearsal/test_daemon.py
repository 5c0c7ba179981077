"""culture-rehearsal as a process: what it prints, adopts, notifies, and how it ends."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

PROGRAM = [sys.executable, "-m", "culture.daemons.rehearsal"]

# As a service manager starts it: the socket as descriptor 3, and the pid of the program itself.
WITH_SOCKET = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.executable, [sys.executable, "-m", "culture.daemons.rehearsal"])
"""


@contextlib.contextmanager
def running(command: list[str], **options) -> Iterator[subprocess.Popen]:
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: subprocess.Popen) -> str:
    return process.stderr.readline().removeprefix("listening on ").strip()


def answer(url: str) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    with urllib.request.urlopen(f"{url}/v1/messages", json.dumps(body).encode(), timeout=10) as got:
        return json.load(got)["content"][0]["text"]


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text("rules: [{name: first, answer: [{text: one}]}]")
    return path


def test_it_plays_a_script_takes_up_a_changed_one_and_stops_when_told(script):
    with running([*PROGRAM, "--port", "0", "--script", str(script)]) as process:
        url = url_of(process)
        assert url.startswith("http://127.0.0.1:")
        assert answer(url) == "one"
        assert process.stderr.readline() == "rule 'first' answers\n"

        script.write_text("rules: [{answer: [{text: two}]}]")
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline() == f"reloaded '{script}'\n"
        assert answer(url) == "two"
        assert process.stderr.readline() == "rule 'rule 1' answers\n"

        script.write_text("rules: [{answer: []}]")
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline().startswith(f"warning: keeping the old script: {script}:1: ")
        assert answer(url) == "two"

        process.terminate()
        assert process.wait(10) == 0


def test_it_adopts_a_passed_socket_and_says_that_it_is_ready(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices,
    ):
        notices.bind(str(tmp_path / "notify"))
        notices.settimeout(20)
        env = os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        fd = listener.fileno()
        with running([sys.executable, "-c", WITH_SOCKET, str(fd)], env=env, pass_fds=[fd]) as process:
            assert notices.recv(1000) == b"READY=1\nSTATUS=playing the default script"
            assert url_of(process) == f"http://127.0.0.1:{listener.getsockname()[1]}"
            process.terminate()
            assert notices.recv(1000) == b"STOPPING=1\nSTATUS=closing connections"
            assert process.wait(10) == 0


def test_a_connection_that_stalls_does_not_keep_it_from_stopping(script):
    script.write_text("rules: [{answer: [{stall: true}]}]")
    with running([*PROGRAM, "--port", "0", "--script", str(script)]) as process:
        host, port = url_of(process).removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as waiting:
            body = b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}'
            waiting.sendall(
                b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            waiting.sendall(body)
            assert process.stderr.readline() == "rule 'rule 1' answers\n"

            process.terminate()
            assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--check"], 0, ""),
        (["--check", "--script", "/nowhere/script.yaml"], 66, "'/nowhere/script.yaml' is not there"),
        (["--port", "70000"], 64, "hint: culture-rehearsal --help"),
        (["--scrpt", "x"], 64, "unrecognized arguments: --scrpt x"),
    ],
)
def test_it_ends_with_a_status_and_a_reason(arguments, status, words):
    ran = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=30)

    assert ran.returncode == status
    assert words in ran.stderr


def test_check_names_the_line_of_every_mistake(script):
    script.write_text("rules:\n  - answer: [{txt: a}]\n  - answer: [{text: '{who}'}]\n")

    ran = subprocess.run([*PROGRAM, "--check", "--script", str(script)], capture_output=True, text=True)

    assert ran.returncode == 78
    assert f"culture-rehearsal: {script}:2: unknown key 'txt'" in ran.stderr
    assert f"culture-rehearsal: {script}:3: 'rules[1]': '{{who}}' in 'answer[0]' has no value" in ran.stderr


def test_a_taken_port_is_told_with_what_to_type():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = subprocess.run([*PROGRAM, "--port", port], capture_output=True, text=True, timeout=30)

    assert ran.returncode == 69
    assert ran.stderr.startswith(f"culture-rehearsal: cannot listen on 127.0.0.1:{port}: ")
    assert "hint: ss -tlnp" in ran.stderr
