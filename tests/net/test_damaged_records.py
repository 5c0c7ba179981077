"""A record of the restart file that cannot be used costs what it is about, and nobody else."""

from pathlib import Path
from typing import Any

import pytest
from support.network import Network

from culture.ircd.replication.remote_users import add_remote_user
from culture.ircd.replication.snapshot_lines import SnapshotUser
from culture.ircd.restart.snapshot import channel_values, guest_values, session_values
from culture.ircd.server import Ircd
from culture.names import fold
from culture.net.driver import Driver
from culture.net.restart.session_file import SessionFile
from culture.net.restart.session_keeper import SessionKeeper
from culture.net.restart.session_restore import restore
from culture.systemd.fdstore import FdStore

Records = dict[tuple[str, str], Any]


def guest(ircd: Ircd, nick: str) -> dict[str, Any]:
    user = add_remote_user(ircd, "thor", SnapshotUser(nick, "bo", "thor", None, "", 1.0, "Bo"))
    return guest_values(ircd.state, user)


def records() -> Records:
    """Two clients in a channel, and two users of another host."""
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    return {
        ("channel", "#a"): channel_values(network.ircd.state.channels[fold("#a")]),
        ("session", "1"): session_values(network.ircd, ori.session),
        ("session", "2"): session_values(network.ircd, bo.session),
        ("guest", "thor-bo"): guest(network.ircd, "thor-bo"),
        ("guest", "thor-kit"): guest(network.ircd, "thor-kit"),
    }


def keeper_with(ircd: Ircd, directory: Path, kept: Records) -> SessionKeeper:
    """What an earlier process left behind."""
    keeper = SessionKeeper(ircd, FdStore({}), directory)
    directory.mkdir()
    file = SessionFile(keeper.path, "spark")
    for (kind, key), values in kept.items():
        file.put(kind, key, values)
    file.replace()
    return keeper


def bad_guest(*lines: str) -> Records:
    return {("guest", "thor-eve"): {"server": "thor", "lines": lines, "standings": {}}}


@pytest.mark.parametrize(
    "damage",
    [
        bad_guest("USER thor-eve  x * + 1 :Eve"),
        bad_guest("USER thor-eve x x * + 1 :Eve", "IN #a"),
        bad_guest(),
        {("guest", "thor-eve"): {"server": "thor"}},
        {("guest", "thor-eve"): "x"},
        {("session", "9"): {"nick": "spark-eve"}},
        {("session", "9"): ["x"]},
        {("channel", "#b"): {"name": "#b"}},
        {("account", "eve"): 7},
        {("spoke_at", "1"): "x", ("guest_spoke_at", "thor-bo"): []},
    ],
)
async def test_a_bad_record_costs_what_it_is_about_and_nobody_else(tmp_path: Path, damage: Records):
    ircd = Network().ircd
    keeper = keeper_with(ircd, tmp_path / "run", {**damage, **records()})

    restore(Driver(ircd, keeper=keeper), [])

    assert {"thor-bo", "thor-kit"} <= ircd.state.users.keys()
    assert ircd.state.users.keys().isdisjoint({"thor-eve", "spark-eve"})


async def test_a_session_whose_record_is_bad_is_gone_and_the_others_are_not(tmp_path: Path):
    kept = records()
    kept["session", "1"]["standings"] = {"#a": "x"}
    ircd = Network().ircd

    restore(Driver(ircd, keeper=keeper_with(ircd, tmp_path / "run", kept)), [])

    assert not [each for each in ircd.sessions if each.user.nick == "spark-ori"]
    assert "thor-bo" in ircd.state.users


@pytest.mark.parametrize("line", ["[1]", '[["guest"]]', "[[1, 2, 3]]", '{"a": 1}', '[[["x"], "y", 1]]', "7"])
async def test_a_line_that_has_no_records_is_left_out(tmp_path: Path, line: str):
    ircd = Network().ircd
    keeper = keeper_with(ircd, tmp_path / "run", records())
    with keeper.path.open("a") as end:
        end.write(f"{line}\n")

    restore(Driver(ircd, keeper=keeper), [])

    assert "thor-bo" in ircd.state.users
