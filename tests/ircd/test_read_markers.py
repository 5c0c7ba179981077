"""IRCv3 draft/read-marker."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.accounts import accounts_in, log_in, logged_in
from support.network import Client, Network

from culture.ircd.model.read_markers import MOST, is_timestamp
from culture.names import fold
from culture.net.auth.accounts import StoredAccounts
from culture.protocol.render import format_time

CAP = "draft/read-marker"
EARLY, LATE = "timestamp=1970-01-04T14:33:26.123Z", "timestamp=1970-01-04T14:33:26.124Z"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(authenticator=StoredAccounts(accounts_in(tmp_path, "jilles", "kim")), nick_policy="open")


def test_a_marker_is_asked_for_and_set():
    ori = Network().client("spark-ori", "#Ops", caps=CAP)
    ori.send("MARKREAD #ops", f"MARKREAD #OPS {EARLY}", "MARKREAD #Ops", "MARKREAD spark-bo")
    assert ori.lines() == [
        ":spark MARKREAD #Ops *",
        f":spark MARKREAD #Ops {EARLY}",
        f":spark MARKREAD #Ops {EARLY}",
        ":spark MARKREAD spark-bo *",
    ]


def test_a_marker_only_moves_forward():
    ori = Network().client("spark-ori")
    ori.send(f"MARKREAD #a {LATE}", f"MARKREAD #a {EARLY}", f"MARKREAD #a {LATE}")
    assert ori.lines() == [f":spark MARKREAD #a {LATE}"] * 3


def test_nobody_has_read_what_is_still_to_come():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("MARKREAD #a timestamp=9999-12-31T23:59:59.999Z")
    network.clock.advance(1)
    ori.send("MARKREAD #a", "MARKREAD #a timestamp=1970-01-12T13:46:40.500Z")
    assert ori.lines() == [
        ":spark MARKREAD #a timestamp=1970-01-12T13:46:40.000Z",
        ":spark MARKREAD #a timestamp=1970-01-12T13:46:40.000Z",
        ":spark MARKREAD #a timestamp=1970-01-12T13:46:40.500Z",
    ]


def test_who_joins_learns_how_far_they_were_before_who_is_there():
    network = Network()
    network.client("spark-bo", "#a").send("TOPIC #a :x")
    ori = network.client("spark-ori", caps=CAP)
    ori.send("JOIN #a", f"MARKREAD #a {EARLY}", "PART #a", "JOIN #a")
    lines = [line for line in ori.lines() if "PART" not in line]
    markers = [line for line in lines if "MARKREAD" in line]
    assert markers == [
        ":spark MARKREAD #a *",
        f":spark MARKREAD #a {EARLY}",
        f":spark MARKREAD #a {EARLY}",
    ]
    commands = [line.split(" ")[1] for line in lines]
    assert commands[:6] == ["JOIN", "332", "333", "MARKREAD", "353", "366"]


def test_without_the_capability_nobody_is_told_who_did_not_ask():
    ori = Network().client("spark-ori")
    ori.send("JOIN #a")
    assert "MARKREAD" not in ori.numerics()


def test_all_connections_of_an_account_are_told_and_nobody_else(network: Network):
    desk, phone = (logged_in(network.client(nick, "#a", caps=CAP), "jilles") for nick in ("desk", "phone"))
    old = logged_in(network.client("old", "#a"), "jilles")
    stranger = network.client("stranger", "#a", caps=CAP)
    for client in (desk, phone, old):
        client.lines()
    phone.send(f"MARKREAD #a {EARLY}")
    assert phone.lines() == desk.lines() == [f":spark MARKREAD #a {EARLY}"]
    assert old.lines() == stranger.lines() == []
    old.send("MARKREAD #a")
    assert old.lines() == [f":spark MARKREAD #a {EARLY}"]
    stranger.send("MARKREAD #a")
    assert stranger.lines() == [":spark MARKREAD #a *"]
    desk.send(f"MARKREAD #a {EARLY}")
    assert desk.lines() == [f":spark MARKREAD #a {EARLY}"]
    assert phone.lines() == []


def test_an_account_keeps_its_markers_while_nobody_is_here(network: Network):
    first = logged_in(network.client("desk", caps=CAP), "jilles")
    first.send(f"MARKREAD bo {EARLY}")
    first.drop()
    assert network.ircd.state.by_account == {}
    assert network.ircd.state.markers.of_accounts == {"jilles": {"bo": EARLY.removeprefix("timestamp=")}}
    second = logged_in(network.client("phone", caps=CAP), "jilles")
    second.send("MARKREAD Bo")
    assert second.lines() == [f":spark MARKREAD Bo {EARLY}"]


def test_who_logs_in_has_read_what_they_and_the_account_read(network: Network):
    desk = logged_in(network.client("desk", "#a", "#b", "#c", caps=CAP), "jilles")
    desk.send(f"MARKREAD #A {LATE}", f"MARKREAD #b {EARLY}", f"MARKREAD bo {LATE}")
    phone = network.client("Phone", "#a", "#b", "#c", caps=CAP)
    phone.send(
        f"MARKREAD #a {EARLY}", f"MARKREAD #b {LATE}", f"MARKREAD bo {EARLY}", f"MARKREAD Desk {EARLY}"
    )
    desk.lines(), phone.lines()

    log_in(phone, "jilles")

    assert sorted(line for line in phone.lines() if "MARKREAD" in line) == [
        f":spark MARKREAD #a {LATE}",
        f":spark MARKREAD bo {LATE}",
    ]
    moved = [f":spark MARKREAD #b {LATE}", f":spark MARKREAD desk {EARLY}"]
    assert sorted(line for line in desk.lines() if "MARKREAD" in line) == moved
    phone.send("MARKREAD desk", "MARKREAD #B", "MARKREAD #c")
    assert phone.lines() == [moved[1], moved[0], ":spark MARKREAD #c *"]


def test_a_marker_goes_with_a_channel_that_is_renamed(network: Network):
    ori = logged_in(network.client("ori", "#a", caps=CAP), "jilles")
    bo, lea = network.client("bo", caps=CAP), network.client("lea", "#a", caps=f"{CAP} draft/channel-rename")
    for client in (ori, bo):
        client.send(f"MARKREAD #a {LATE}", f"MARKREAD #B {EARLY}")
    lea.send(f"MARKREAD #b {LATE}")
    ori.lines(), bo.lines(), lea.lines()

    ori.send("RENAME #a #B")

    assert f":spark MARKREAD #B {LATE}" in ori.lines()
    for client in (bo, lea):
        client.send("MARKREAD #b")
    assert bo.lines() == [f":spark MARKREAD #B {LATE}"]
    assert lea.lines()[-1] == f":spark MARKREAD #B {LATE}"


def test_what_one_account_read_another_did_not(network: Network):
    ori = logged_in(network.client("ori", "#a", caps=CAP), "jilles")
    ori.send(f"MARKREAD #a {EARLY}", f"MARKREAD bo {EARLY}")
    ori.lines()
    log_in(ori, "kim")
    assert [line for line in ori.lines() if "MARKREAD" in line] == [":spark MARKREAD #a *"]
    ori.send("MARKREAD bo")
    assert ori.lines() == [":spark MARKREAD bo *"]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("MARKREAD", "NEED_MORE_PARAMS"),
        ("MARKREAD :", "NEED_MORE_PARAMS"),
        (f"MARKREAD :not one {EARLY}", "INVALID_PARAMS *"),
        ("MARKREAD a,b", "INVALID_PARAMS a,b"),
        (f"MARKREAD #{'x' * 100}", f"INVALID_PARAMS #{'x' * 100}"),
        ("MARKREAD #a *", "INVALID_PARAMS *"),
        ("MARKREAD #a 2019-01-04T14:33:26.123Z", "INVALID_PARAMS 2019-01-04T14:33:26.123Z"),
        (
            "MARKREAD #a timestamp=2019-13-04T14:33:26.123Z",
            "INVALID_PARAMS timestamp=2019-13-04T14:33:26.123Z",
        ),
        ("MARKREAD #a timestamp=2019-01-04T14:33:26Z", "INVALID_PARAMS timestamp=2019-01-04T14:33:26Z"),
        ("MARKREAD #a :", "INVALID_PARAMS *"),
    ],
)
def test_refusals_say_why(typed: str, told: str):
    ori = Network().client("spark-ori")
    ori.send(typed)
    (line,) = ori.lines()
    assert line.startswith(f":spark FAIL MARKREAD {told} :")
    assert ori.session.user.markers == {}


def test_what_was_not_read_for_longest_is_forgotten_first():
    ori = Network().client("spark-ori")
    ori.send(
        *(f"MARKREAD n{number} {EARLY}" for number in range(MOST)),
        f"MARKREAD n0 {LATE}",
        f"MARKREAD m {LATE}",
    )
    markers = ori.session.user.markers
    assert len(markers) == MOST
    assert fold("n0") in markers
    assert fold("n1") not in markers


moments = st.integers(min_value=0, max_value=253_402_300_799_999)


@given(moments, moments)
def test_every_time_of_the_server_is_one_and_later_ones_compare_as_greater(one_ms: int, other_ms: int):
    one, other = format_time(one_ms / 1000), format_time(other_ms / 1000)
    assert is_timestamp(one)
    assert (one < other) is (int(one_ms / 1000 * 1000) < int(other_ms / 1000 * 1000))


def come_in(network: Network, nick: str, account: str) -> Client:
    """Log in on the way in, as clients do."""
    client = network.connect()
    client.send("CAP LS 302", f"CAP REQ :{CAP} sasl")
    logged_in(client, account)
    client.send(f"NICK {nick}", "USER u 0 * :r", "CAP END")
    client.lines()
    return client


def test_after_a_reconnect_the_marker_is_told_on_join_and_on_request(network: Network):
    """IRCv3 draft/read-marker, command flows."""
    first = come_in(network, "kim", "kim")
    first.send("JOIN #a", f"MARKREAD #a {EARLY}", f"MARKREAD jilles {LATE}", "QUIT")
    again = come_in(network, "kim", "kim")
    again.send("JOIN #a", "MARKREAD jilles", "MARKREAD #a")
    lines = again.lines()
    assert [line.split(" ")[1] for line in lines[:4]] == ["JOIN", "MARKREAD", "353", "366"]
    assert [line for line in lines if "MARKREAD" in line] == [
        f":spark MARKREAD #a {EARLY}",
        f":spark MARKREAD jilles {LATE}",
        f":spark MARKREAD #a {EARLY}",
    ]


def test_all_sessions_of_an_account_share_markers_and_are_told_once(network: Network):
    """IRCv3 draft/read-marker, command flows: "to all the clients of the user"."""
    desk, phone = come_in(network, "desk", "kim"), come_in(network, "phone", "kim")
    other = come_in(network, "other", "jilles")
    desk.send("JOIN #a")
    desk.lines()
    phone.send(f"MARKREAD #A {EARLY}", f"MARKREAD jilles {EARLY}", f"MARKREAD jilles {EARLY}")
    told = [f":spark MARKREAD #a {EARLY}", f":spark MARKREAD jilles {EARLY}"]
    assert desk.lines() == told
    assert phone.lines() == [*told, told[1]]
    assert other.lines() == []
    desk.send(f"MARKREAD jilles {LATE}")
    assert phone.lines() == [f":spark MARKREAD jilles {LATE}"]
