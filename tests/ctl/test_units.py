"""What agents.yaml says of an agent's service becomes drop-ins, the same way twice."""

import contextlib
import getpass
import os
from pathlib import Path

import pytest

from culture.config.agents import AgentConfig, AgentsConfig, ServerConfig
from culture.ctl import main
from culture.ctl.units.dropins import FILE, apply, installed_agents, remove_drop_ins, render
from culture.ctl.units.missing import find_missing
from culture.ctl.units.move_credentials import move_credentials
from culture.errors import UnavailableError

SERVICE = Path("culture-agent@spark-claude.service.d", FILE)
SOCKET = Path("culture-agent@spark-claude.socket.d", FILE)
SHARED = Path("etc/culture/credentials")
OWN = SHARED / "agents/spark-claude"


def agent(**keys: object) -> AgentConfig:
    return AgentConfig(nick="spark-claude", **keys)  # type: ignore[arg-type]


def rendered(**keys: object) -> dict[Path, str]:
    return render(agent(**keys))


def lines(text: str) -> list[str]:
    return text.splitlines()[2:]


def test_an_agent_with_nothing_special_needs_no_drop_in():
    files = rendered(key_credential="anthropic", account_credential="claude-irc")

    assert files == {SERVICE: "", SOCKET: ""}


def test_a_user_a_project_and_a_bound():
    files = rendered(user="ori", directory="/srv/project", writable=("/home/ori/My Notes",), memory_max="4G")

    assert lines(files[SERVICE]) == [
        "User=ori",
        "Group=",
        "SupplementaryGroups=culture",
        "RemoveIPC=no",
        'BindPaths="-/srv/project"',
        'BindPaths="-/home/ori/My Notes"',
        'ReadWritePaths="-/srv/project"',
        'ReadWritePaths="-/home/ori/My Notes"',
        "MemoryMax=4G",
    ]
    assert lines(files[SOCKET]) == ["SocketUser=ori", "SocketGroup="]


def test_what_a_unit_file_would_read_otherwise_is_quoted():
    files = rendered(directory='/srv/50% "off":\\')

    assert 'BindPaths="-/srv/50%% \\"off\\"\\:\\\\"' in lines(files[SERVICE])


def test_applying_twice_does_nothing_and_what_is_not_needed_goes(tmp_path: Path):
    first = rendered(user="ori")

    assert apply(first, tmp_path) == [SERVICE, SOCKET]
    assert (tmp_path / SERVICE).read_text() == first[SERVICE]
    assert apply(first, tmp_path) == []
    assert apply(rendered(memory_max="1G"), tmp_path) == [SERVICE, SOCKET]
    assert list((tmp_path / SERVICE).parent.iterdir()) == [tmp_path / SERVICE]
    assert apply(rendered(), tmp_path) == [SERVICE]
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_write_it_says_so(tmp_path: Path):
    (tmp_path / SERVICE.parent).write_text("in the way")

    with pytest.raises(UnavailableError, match=r"cannot write '.*culture-agent@spark-claude\.service\.d"):
        apply(rendered(user="ori"), tmp_path)


def test_a_full_disk_is_called_that_and_leaves_what_was_there(small_disk: Path):
    apply(rendered(memory_max="1G"), small_disk)
    with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))

    with pytest.raises(UnavailableError, match=r"cannot write '.*': No space left on device"):
        apply(rendered(user="ori"), small_disk)

    assert (small_disk / SERVICE).read_text() == rendered(memory_max="1G")[SERVICE]


def test_a_dry_run_shows_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = tmp_path / "agents.yaml"
    config.write_text("agents:\n  - nick: spark-claude\n    user: ori\n")

    assert main.run(["units", "--dry-run", "--config", str(config)]) == 0

    shown = capsys.readouterr().out
    assert f"# /etc/systemd/system/{SERVICE}\n" in shown
    assert "User=ori\n" in shown


def test_below_another_root_systemd_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = tmp_path / "agents.yaml"
    config.write_text("agents:\n  - nick: spark-claude\n    memory_max: 1G\n    user: nobody-here\n")

    assert main.run(["units", "--root", str(tmp_path), "--config", str(config)]) == 0

    written = [tmp_path / "etc/systemd/system" / file for file in (SERVICE, SOCKET)]
    assert capsys.readouterr() == ("".join(f"{file}\n" for file in written), "")


# ---- what is not there -----------------------------------------------------------------------------------


def missing(
    root: Path, password: str = "", *, may_write: bool = True, **keys: object
) -> list[tuple[str, str]]:
    config = AgentsConfig(server=ServerConfig(password_credential=password), agents=(agent(**keys),))
    found = find_missing(config, config.agents[0], root, may_write=lambda user, place: may_write)
    assert {problem.where for problem in found} <= {"agent 'spark-claude'"}
    return [(problem.what, problem.hint or "") for problem in found]


def test_a_user_and_directories_that_do_not_exist_are_reported(tmp_path: Path):
    (tmp_path / "srv/there").mkdir(parents=True)

    assert missing(tmp_path, user="nobody-here", directory="/srv/there", writable=("/srv/none",)) == [
        ("there is no user 'nobody-here'", "useradd nobody-here, or set another user in agents.yaml"),
        ("the directory '/srv/none' does not exist", "mkdir /srv/none"),
    ]


def test_a_directory_that_its_user_cannot_write_to_is_reported(tmp_path: Path):
    (tmp_path / "srv").mkdir()
    user = getpass.getuser()

    assert missing(tmp_path, user=user, directory="/srv") == []
    assert missing(tmp_path, may_write=False, user=user, directory="/srv") == [
        (f"the user '{user}' may not write to '/srv'", f"chown -R {user}: /srv")
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as another user")
def test_whether_a_user_may_write_is_asked_as_that_user(tmp_path: Path):
    tmp_path.chmod(0o755)
    config = AgentsConfig(agents=(agent(user="nobody", directory=str(tmp_path)),))

    (problem,) = find_missing(config, config.agents[0])

    assert problem.what == f"the user 'nobody' may not write to '{tmp_path}'"


def test_credentials_that_are_nowhere_encrypted_or_still_in_the_shared_directory(tmp_path: Path):
    keys = {"password": "irc", "key_credential": "anthropic", "account_credential": "claude-irc"}
    (tmp_path / SHARED).mkdir(parents=True)
    (tmp_path / SHARED / "anthropic").write_text("sk-1")
    encrypted = tmp_path / "etc/culture/credentials.encrypted/agents/spark-claude"
    encrypted.mkdir(parents=True)
    (encrypted / "irc").touch()

    assert missing(tmp_path, **keys) == [  # type: ignore[arg-type]
        (f"the credential 'anthropic' is not in /{OWN}", "culturectl units --upgrade"),
        (f"the credential 'claude-irc' is not in /{OWN}", f"install -D -m 0600 /dev/stdin /{OWN}/claude-irc"),
    ]


def test_what_is_missing_is_said_and_makes_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = tmp_path / "agents.yaml"
    config.write_text("agents:\n  - nick: spark-claude\n    directory: /nowhere/at/all\n")

    assert main.run(["units", "--check", "--config", str(config)]) == 78

    assert capsys.readouterr() == (
        "",
        "culturectl: agent 'spark-claude': the directory '/nowhere/at/all' does not exist\n"
        "hint: mkdir /nowhere/at/all\n",
    )


# ---- from the shared directory of credentials to one for each agent --------------------------------------


class Shared:
    """A host as version 0.1 left it: the credentials of all services are in one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / SHARED).mkdir(parents=True)
        for name in ("anthropic", "claude-irc", "mesh", "other"):
            (root / SHARED / name).write_text(f"{name} s3cret\n")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def files(self) -> dict[str, str]:
        top = self.root / SHARED
        return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}

    def move(self, *agents: AgentConfig) -> list[str]:
        config = AgentsConfig(
            agents=agents or (agent(key_credential="anthropic", account_credential="claude-irc"),)
        )
        return list(move_credentials(config, self.root))


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def test_an_agent_gets_its_credentials_and_the_server_keeps_its_own(shared: Shared):
    told = shared.move()

    assert told == [
        f"{shared.root / SHARED / n} -> {shared.root / OWN / n}" for n in ("anthropic", "claude-irc")
    ]
    assert shared.files() == {
        "mesh": "mesh s3cret\n",
        "other": "other s3cret\n",
        "agents/spark-claude/anthropic": "anthropic s3cret\n",
        "agents/spark-claude/claude-irc": "claude-irc s3cret\n",
    }
    assert (shared.root / OWN).stat().st_mode & 0o777 == 0o700
    assert (shared.root / OWN / "anthropic").stat().st_mode & 0o777 == 0o600
    assert shared.move() == []


def test_agents_that_share_a_key_get_a_copy_each(shared: Shared):
    shared.move(agent(key_credential="anthropic"), AgentConfig(nick="spark-bo", key_credential="anthropic"))

    files = shared.files()
    assert "anthropic" not in files
    assert (
        files["agents/spark-claude/anthropic"] == files["agents/spark-bo/anthropic"] == "anthropic s3cret\n"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/culture/ircd.yaml", "links: [{name: thor, secret_credential: anthropic}]\n"),
        ("etc/culture/ircd.yaml", "no: such key\n"),
        (
            "etc/systemd/system/culture-agent@.service.d/mine.conf",
            "[Service]\nLoadCredential=key:/etc/culture/credentials/anthropic\n",
        ),
    ],
)
def test_what_others_need_or_may_need_stays(shared: Shared, path: str, text: str):
    shared.write(path, text)

    told = shared.move(agent(key_credential="anthropic"))

    assert f"{shared.root / SHARED / 'anthropic'} stays: the server or a unit may need it" in told
    assert {"anthropic", "agents/spark-claude/anthropic"} <= shared.files().keys()


def test_a_credential_that_the_agent_has_is_not_overwritten(shared: Shared):
    shared.write(str(OWN / "anthropic"), "newer\n")

    assert shared.move(agent(key_credential="anthropic")) == []
    assert shared.files()["agents/spark-claude/anthropic"] == "newer\n"
    assert "anthropic" in shared.files()


def test_a_dry_run_moves_nothing_and_drop_ins_of_version_0_1_are_renewed(
    shared: Shared, capsys: pytest.CaptureFixture[str]
):
    shared.write("agents.yaml", "agents: [{nick: spark-claude, key_credential: anthropic, memory_max: 1G}]\n")
    old = f"etc/systemd/system/{SERVICE}"
    shared.write(
        old, "[Service]\nLoadCredential=\nLoadCredential=anthropic:/etc/culture/credentials/anthropic\n"
    )
    move = [
        "units",
        "--upgrade",
        "--root",
        str(shared.root),
        "--config",
        str(shared.root / "agents.yaml"),
    ]

    assert main.run([*move, "--dry-run"]) == 0
    assert "agents/spark-claude/anthropic" not in shared.files()
    assert main.run(move) == 0

    assert "agents/spark-claude/anthropic" in shared.files()
    assert lines((shared.root / old).read_text()) == ["MemoryMax=1G"]
    assert "s3cret" not in capsys.readouterr().out


# ---- agents that are gone --------------------------------------------------------------------------------


def test_drop_ins_of_a_removed_agent_are_found_and_removed(tmp_path: Path):
    apply(rendered(user="ori"), tmp_path)
    (tmp_path / SOCKET).with_name("mine.conf").write_text("[Socket]\n")
    (tmp_path / "culture-agents.target.wants").mkdir()
    (tmp_path / "culture-agents.target.wants/culture-agent@spark-bo.service").symlink_to("/dev/null")

    assert installed_agents(tmp_path) == {"spark-claude", "spark-bo"}
    assert remove_drop_ins("spark-claude", tmp_path) == [tmp_path / SERVICE, tmp_path / SOCKET]
    assert installed_agents(tmp_path) == {"spark-bo"}
    assert not (tmp_path / SERVICE.parent).exists()
    assert (tmp_path / SOCKET).with_name("mine.conf").exists()
