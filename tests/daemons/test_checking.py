"""culture-ircd --check: what would keep the server from starting is told, and nothing is left behind."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.certificates import make_pair

from culture.config import paths
from culture.config.ircd import IrcdConfig
from culture.config.links import LinkConfig
from culture.daemons.checking import find_problems


class Place:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.config = directory / "ircd.yaml"
        self.credentials = directory / "credentials"
        self.credentials.mkdir()

    def check(self, text: str) -> subprocess.CompletedProcess[str]:
        self.config.write_text(f"name: spark\nstate_dir: {self.directory}/state\n{text}")
        env = {
            **os.environ,
            "CREDENTIALS_DIRECTORY": str(self.credentials),
            "PYTHONPATH": str(self.directory),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "culture.daemons.ircd", "--check", "--config", str(self.config)]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, env=env)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_all_that_is_named_is_there_and_nothing_is_left_behind(place: Place):
    pair = make_pair(place.directory, "spark")
    (place.credentials / "mesh").write_text("s3cret\n")
    (place.directory / "mine.py").write_text(
        "from culture.ircd.skills import Skill\nclass Mine(Skill):\n    name = 'mine'\n"
    )
    before = sorted(place.directory.iterdir())
    done = place.check(
        f"tls: {{certificate: {pair.certificate}, key: {pair.key}}}\n"
        "listen: ['tls:127.0.0.1:6697', 'ws:127.0.0.1:8067']\n"
        "links: [{name: thor, secret_credential: mesh}]\n"
        "skills: [history, logger, 'mine:Mine']\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(place.directory.iterdir()) == sorted([*before, place.config])


def test_everything_that_is_missing_is_told_at_once(place: Place):
    (place.credentials / "bytes").write_bytes(b"\xff\xfe")
    done = place.check(
        "tls: {certificate: /nowhere/crt}\n"
        "password_credential: way-in\n"
        "opers: [{name: watch, password_credential: watch}]\n"
        "links: [{name: SPARK.example.org, secret_credential: bytes}]\n"
        "skills: ['no_such_module:Skill', 'json:JSONDecoder']\n"
    )
    told = [line for line in done.stderr.splitlines() if not line.startswith("hint: ")]
    assert done.returncode == 78
    assert told == [
        f"culture-ircd: credential 'way-in': is not in '{place.credentials}'",
        f"culture-ircd: credential 'watch': is not in '{place.credentials}'",
        "culture-ircd: credential 'bytes': is not UTF-8 at byte 0",
        "culture-ircd: tls: '/nowhere/crt' cannot be read: No such file or directory",
        "culture-ircd: skills: there is no 'no_such_module:Skill': No module named 'no_such_module'",
        "culture-ircd: skills: 'json:JSONDecoder' is no skill",
        f"culture-ircd: {place.config}: 'links': 'SPARK.example.org' is this host itself, or one whose "
        "nicks begin as those of this one",
    ]


def test_two_links_with_one_secret_are_told(place: Place):
    for name in ("thor", "orin"):
        (place.credentials / name).write_text("s3cret\n")
    done = place.check(
        "links: [{name: thor, secret_credential: thor}, {name: orin, secret_credential: orin}]\n"
    )
    assert done.returncode == 78
    assert done.stderr == (
        "culture-ircd: links: links 'thor' and 'orin' have the same secret: each link needs one of its own\n"
        "hint: head -c 32 /dev/urandom | base64 > /etc/culture/credentials/orin\n"
    )


def test_a_key_that_belongs_to_another_certificate_is_told(place: Place):
    one, other = make_pair(place.directory, "one"), make_pair(place.directory, "other")
    done = place.check(f"tls: {{certificate: {one.certificate}, key: {other.key}}}\n")
    assert done.returncode == 78
    assert f"tls: '{one.certificate}' cannot be used with its key: " in done.stderr


def test_a_skill_that_breaks_when_it_is_imported_is_told(place: Place):
    (place.directory / "broken.py").write_text("def (")
    done = place.check("skills: ['broken:Skill']\n")
    assert done.returncode == 78
    assert "skills: there is no 'broken:Skill': invalid syntax" in done.stderr
    assert done.stderr.endswith("hint: python3 -c 'from broken import Skill'\n")


@pytest.mark.parametrize(
    ("missing", "text", "told"),
    [
        ("wsproto", "listen: ['ws:127.0.0.1:8067']\n", "the Python module 'wsproto' is missing"),
        ("jwt", "oidc: {keys_file: /x, issuer: i, audience: a}\n", "'oidc' needs PyJWT"),
    ],
)
def test_a_package_that_a_key_needs_is_told(place: Place, missing: str, text: str, told: str):
    (place.directory / f"{missing}.py").write_text(f"raise ModuleNotFoundError('no {missing}')\n")
    done = place.check(text)
    assert done.returncode == 69
    assert told in done.stderr


def test_a_state_directory_that_could_not_be_made_is_told_and_none_is_made(place: Place):
    done = place.check("")
    assert (done.returncode, (place.directory / "state").exists()) == (0, False)
    (place.directory / "state").write_text("a file\n")
    done = place.check("")
    assert done.returncode == 77
    state = place.directory / "state"
    assert done.stderr.startswith(
        f"culture-ircd: cannot make '{state}': '{state}' is not a directory\nhint: "
    )


def test_credentials_of_the_system_are_looked_for_where_systemd_would_take_them_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "SYSTEM_CONFIG", tmp_path)
    (tmp_path / "credentials").mkdir()
    config = IrcdConfig(name="spark", links=(LinkConfig("thor", "mesh"),))
    (error,) = find_problems(config, tmp_path / "ircd.yaml", {})
    assert str(error) == f"credential 'mesh': is not in '{tmp_path}/credentials'"
    (tmp_path / "credentials/mesh").write_text("s3cret")
    assert find_problems(config, tmp_path / "ircd.yaml", {}) == []
    elsewhere = dataclasses.replace(config, state_dir=str(tmp_path))
    (error,) = find_problems(elsewhere, tmp_path / "mine/ircd.yaml", {})
    assert "there is no $CREDENTIALS_DIRECTORY" in str(error)
