import contextlib
import getpass
import os

import pytest

from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.config.loader import parse
from culture.ctl.up.home import load_configs, lock, open_home, socket_directory, with_listen, with_server_port
from culture.errors import ConfigError, NotAllowedError, UnavailableError


def test_a_new_home_starts_from_skel(tmp_path):
    home, written = open_home(tmp_path / "new")

    ircd, agents = load_configs(home)

    assert written == [home.ircd_yaml, home.agents_yaml]
    assert (ircd.name, ircd.listen) == ("spark", ("127.0.0.1:6667",))
    assert "spark-claude: hello" in ircd.motd
    # Agents run as this user too, so that only a name proves a person.
    assert ircd.people == ("account:*", f"unix:{getpass.getuser()}")
    assert [(a.nick, a.channels, a.permission_mode) for a in agents.agents] == [
        ("spark-claude", ("#general",), "deny")
    ]
    assert str(agents.server.address) in ircd.listen


def test_on_a_full_disk_no_half_a_file_is_left_for_the_next_time(small_disk):
    with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))

    with pytest.raises(NotAllowedError, match="No space left on device"):
        open_home(small_disk)

    (small_disk / "rest").unlink()
    assert len(open_home(small_disk)[1]) == 2


def test_what_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "ircd.yaml").write_text("name: thor\n")

    home, written = open_home(tmp_path)

    assert written == [home.agents_yaml]
    assert home.ircd_yaml.read_text() == "name: thor\n"


def test_an_agent_that_its_server_would_refuse_is_found_before_anything_starts(tmp_path):
    home, _ = open_home(tmp_path)
    home.agents_yaml.write_text("server: {name: spark}\nagents: [{nick: thor-claude}]\n")

    with pytest.raises(ConfigError, match="'thor-claude' does not begin with 'spark-'"):
        load_configs(home)


def test_a_home_is_up_once(tmp_path):
    home, _ = open_home(tmp_path)
    held = lock(home)
    try:
        with pytest.raises(UnavailableError, match=f"is in use by process {os.getpid()}"):
            lock(home)
    finally:
        os.close(held)

    os.close(lock(home))


def test_sockets_are_in_the_home_unless_it_is_too_deep_for_them(tmp_path):
    home, _ = open_home(tmp_path)
    deep, _ = open_home(tmp_path / ("deep" * 25))

    with socket_directory(home, ["a.sock"]) as place:
        assert place == home.run
    with socket_directory(deep, ["a.sock"]) as place:
        assert place.stat().st_mode & 0o777 == 0o700
        assert len(str(place)) < 60
    assert not place.exists()


def test_a_moved_server_changes_nothing_else():
    ircd = parse(
        with_listen('name: spark\nmotd: hello\nlisten: ["127.0.0.1:6667"]\n', ["127.0.0.1:7000"]),
        IrcdConfig,
        where="ircd.yaml",
    )
    agents = parse(
        with_server_port("server: {name: spark}\nagents: [{nick: spark-a}]\n", 7000),
        AgentsConfig,
        where="agents.yaml",
    )

    assert ircd == IrcdConfig(name="spark", motd="hello", listen=("127.0.0.1:7000",))
    assert str(agents.server.address) == "127.0.0.1:7000"
    assert (agents.server.name, agents.agents[0].nick) == ("spark", "spark-a")


@pytest.mark.parametrize("server", ["", "server:\n", "server: {port: 6667, name: spark}\n"])
def test_a_word_that_yaml_reads_otherwise_stays_one(server):
    text = server + "agents:\n- {nick: spark-a, thinking: off, instructions: 'on'}\n"

    agents = parse(with_server_port(text, 7000), AgentsConfig, where="agents.yaml")

    assert agents.server.port == 7000
    assert (agents.agents[0].thinking, agents.agents[0].instructions) == ("off", "on")
