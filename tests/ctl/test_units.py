"""What agents.yaml says of an agent's service becomes drop-ins, the same way twice."""

import contextlib
from pathlib import Path

import pytest

from culture.config.agents import AgentConfig, AgentsConfig, ServerConfig
from culture.ctl import main
from culture.ctl.units import FILE, apply, render
from culture.errors import UnavailableError

SERVICE = Path("culture-agent@spark-claude.service.d", FILE)
SOCKET = Path("culture-agent@spark-claude.socket.d", FILE)


def rendered(*, password: str = "", **keys: object) -> dict[Path, str]:
    agent = AgentConfig(nick="spark-claude", **keys)  # type: ignore[arg-type]
    return render(AgentsConfig(server=ServerConfig(password_credential=password), agents=(agent,)), agent)


def lines(text: str) -> list[str]:
    return text.splitlines()[2:]


def test_an_agent_with_nothing_special_sees_no_credential_and_keeps_its_socket():
    files = rendered()

    assert lines(files[SERVICE]) == ["LoadCredential="]
    assert files[SOCKET] == ""


def test_a_user_a_project_and_a_bound():
    files = rendered(user="ori", directory="/srv/project", writable=("/home/ori/My Notes",), memory_max="4G")

    assert lines(files[SERVICE]) == [
        "User=ori",
        "Group=",
        "SupplementaryGroups=culture",
        'BindPaths="/srv/project"',
        'BindPaths="/home/ori/My Notes"',
        'ReadWritePaths="/srv/project"',
        'ReadWritePaths="/home/ori/My Notes"',
        "MemoryMax=4G",
        "LoadCredential=",
    ]
    assert lines(files[SOCKET]) == ["SocketUser=ori", "SocketGroup="]


def test_an_agent_gets_its_own_credentials_and_no_others():
    files = rendered(key_credential="anthropic", account_credential="claude-irc", password="irc")

    assert lines(files[SERVICE]) == [
        "LoadCredential=",
        "LoadCredential=anthropic:/etc/culture/credentials/anthropic",
        "LoadCredential=claude-irc:/etc/culture/credentials/claude-irc",
        "LoadCredential=irc:/etc/culture/credentials/irc",
    ]


def test_what_a_unit_file_would_read_otherwise_is_quoted():
    files = rendered(directory='/srv/50% "off":\\')

    assert 'BindPaths="/srv/50%% \\"off\\"\\:\\\\"' in lines(files[SERVICE])


def test_applying_twice_does_nothing_and_what_is_not_needed_goes(tmp_path: Path):
    first = rendered(user="ori")

    assert apply(first, tmp_path) == [SERVICE, SOCKET]
    assert (tmp_path / SERVICE).read_text() == first[SERVICE]
    assert apply(first, tmp_path) == []
    assert apply(rendered(), tmp_path) == [SERVICE, SOCKET]
    assert not (tmp_path / SOCKET).exists()
    assert list((tmp_path / SERVICE).parent.iterdir()) == [tmp_path / SERVICE]


def test_where_it_cannot_write_it_says_so(tmp_path: Path):
    (tmp_path / SERVICE.parent).write_text("in the way")

    with pytest.raises(UnavailableError, match=r"cannot write '.*culture-agent@spark-claude\.service\.d"):
        apply(rendered(), tmp_path)


def test_a_full_disk_is_called_that_and_leaves_what_was_there(small_disk: Path):
    apply(rendered(), small_disk)
    with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))

    with pytest.raises(UnavailableError, match=r"cannot write '.*': No space left on device"):
        apply(rendered(user="ori"), small_disk)

    assert (small_disk / SERVICE).read_text() == rendered()[SERVICE]


def test_a_dry_run_shows_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = tmp_path / "agents.yaml"
    config.write_text("agents:\n  - nick: spark-claude\n    user: ori\n")

    assert main.run(["units", "--dry-run", "--config", str(config)]) == 0

    shown = capsys.readouterr().out
    assert f"# /etc/systemd/system/{SERVICE}\n" in shown
    assert "User=ori\n" in shown


def test_below_another_root_systemd_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = tmp_path / "agents.yaml"
    config.write_text("agents:\n  - nick: spark-claude\n")

    assert main.run(["units", "--root", str(tmp_path), "--config", str(config)]) == 0

    written = tmp_path / "etc/systemd/system" / SERVICE
    assert capsys.readouterr() == (f"{written}\n", "")
    assert lines(written.read_text()) == ["LoadCredential="]
