"""Which process at the agent's socket is a person."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from culture.agent.tools.callers import Caller, person_at
from culture.agent.tools.whispers import PROOF_VARIABLE
from culture.errors import NotAllowedError


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Processes: this one (the daemon), a child and a grandchild of it, and one of a person's shell."""
    parents = {os.getpid(): 1, 5001: os.getpid(), 5002: 5001, 6001: 1, 6002: 6001, 1: 0}
    for pid, parent in parents.items():
        place = tmp_path / str(pid)
        place.mkdir()
        (place / "stat").write_text(f"{pid} (a (strange) name) S {parent} 1 1\n")
        (place / "environ").write_bytes(b"HOME=/root\0")
        (place / "cgroup").write_text("0::/user.slice/session-1.scope\n")
    (tmp_path / "self").symlink_to(str(os.getpid()))
    return tmp_path


def test_a_person_is_known_by_the_user(proc):
    other = os.geteuid() + 1
    assert person_at(Caller(5002, other), proc)
    assert person_at(Caller(6002, os.geteuid()), proc)


@pytest.mark.parametrize("pid", [5001, 5002, 9999])
def test_what_the_daemon_started_and_what_is_gone_is_no_person(proc, pid):
    with pytest.raises(NotAllowedError):
        person_at(Caller(pid, os.geteuid()), proc)


def test_who_has_the_environment_of_the_agent_is_no_person(proc):
    (proc / "6002" / "environ").write_bytes(f"HOME=/root\0{PROOF_VARIABLE}=abc\0".encode())
    with pytest.raises(NotAllowedError):
        person_at(Caller(6002, os.geteuid()), proc)


def test_who_is_in_the_unit_of_the_agent_is_no_person(proc):
    unit = "0::/culture-agents.slice/culture-agent@spark-claude.service\n"
    for pid in (os.getpid(), 6002):
        (proc / str(pid) / "cgroup").write_text(unit)
    with pytest.raises(NotAllowedError):
        person_at(Caller(6002, os.geteuid()), proc)


def test_a_real_child_of_this_process_is_no_person():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with pytest.raises(NotAllowedError):
            person_at(Caller(child.pid, os.geteuid()))
    finally:
        child.communicate(b"\n", timeout=20)
