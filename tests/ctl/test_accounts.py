"""culturectl accounts, as it is typed."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from culture.config import paths
from culture.store.accounts import Accounts


class Place:
    def __init__(self, directory: Path) -> None:
        self.config = directory / "ircd.yaml"
        self.config.write_text(f"state_dir: {directory}/state\n")
        self.database = directory / "state" / "accounts.db"

    def command(self, *arguments: str) -> list[str]:
        program = [sys.executable, "-m", "culture.ctl.main", "accounts"]
        return [*program, *arguments, "--config", str(self.config)]

    def type(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        # Bytes that are no text are what Python makes of them: "\udcff" is 0xff.
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=30,
            env=os.environ,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_accounts_are_added_listed_changed_and_removed(place: Place):
    assert place.type("add", "Ori", "--password-stdin", stdin="sesame\n").returncode == 0
    assert place.type("list").stdout.startswith("Ori\t20")
    assert Accounts(place.database).verify("ori", "sesame") == "Ori"
    assert place.type("password", "ori", "--password-stdin", stdin="pencil").returncode == 0
    assert Accounts(place.database).verify("ori", "pencil") == "Ori"
    assert place.type("certificate", "ori", ":".join(["AB"] * 32)).returncode == 0
    assert Accounts(place.database).of_certificate("ab" * 32) == "Ori"
    assert place.type("remove", "ORI").returncode == 0
    assert place.type("list").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["add", "bo"], 64, "cannot prompt for a password without a terminal\nhint: add --password-stdin"),
        (["add", "b o", "--password-stdin"], 64, "'b o' is not a name for an account"),
        (["add", "bo", "--password-stdin"], 64, "the password is empty"),
        (["add"], 64, "accounts add needs a name"),
        (["list", "bo"], 64, "accounts list takes no name"),
        (["certificate", "bo"], 64, "accounts certificate needs a fingerprint"),
        (["remove", "bo", "ab"], 64, "accounts remove takes no fingerprint"),
        (["certificate", "bo", "ab"], 64, "'ab' is not a SHA-256 fingerprint\nhint: openssl x509"),
        (["remove", "bo"], 66, "there is no account 'bo'\nhint: culturectl accounts list"),
    ],
)
def test_mistakes_are_told(place: Place, arguments: list[str], status: int, told: str):
    done = place.type(*arguments)
    assert done.returncode == status
    assert told in done.stderr


def test_the_state_of_the_service_is_known_by_its_configuration():
    state = paths.server_state_dir
    assert state("", Path("/etc/culture/ircd.yaml"), {"HOME": "/root"}) == Path("/var/lib/culture/ircd")
    assert state("", Path("/root/.culture/ircd.yaml"), {"HOME": "/root"}) == Path("/root/.culture/state")
    assert state("/srv/x", Path("/etc/culture/ircd.yaml"), {"HOME": "/root"}) == Path("/srv/x")


def test_a_password_that_is_no_text_is_refused(place: Place):
    done = place.type("add", "ori", "--password-stdin", stdin="sesam\udcff\n")
    assert (done.returncode, done.stderr) == (64, "culturectl: the password is not UTF-8\n")


def test_ctrl_d_instead_of_a_password_is_told(place: Place):
    keyboard, terminal = pty.openpty()
    with subprocess.Popen(
        place.command("add", "ori"), stdin=terminal, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stderr is not None
        prompt = b"password for ori: "
        assert process.stderr.read(len(prompt)) == prompt
        os.write(keyboard, b"\x04")
        told = process.stderr.read()
    os.close(keyboard)
    os.close(terminal)
    assert (process.returncode, told) == (64, b"\nculturectl: no password was entered\n")
