"""The hosts of a mesh: who is linked to whom, and the way to each."""

import pytest

from culture.federation.feeds.watermarks import Scope, parse_scope
from culture.federation.hosts import HostRecord, Hosts, format_record, parse_record
from culture.federation.links.dial_schedule import DialSchedule
from culture.protocol.event_record import AHEAD_S
from culture.protocol.line import MalformedLine, parse_line

NOW = 1_800_000_000


def mesh(own: str, *links: str) -> Hosts:
    """`mesh("spark", "spark-thor", "thor-orin=#a")`"""
    neighbours: dict[str, dict[str, Scope]] = {own: {}}
    for link in links:
        pair, _, channels = link.partition("=")
        one, other = pair.split("-")
        scope = parse_scope(channels) if channels else None
        neighbours.setdefault(one, {})[other] = scope
        neighbours.setdefault(other, {})[one] = scope
    hosts = Hosts(HostRecord(own, 1, 1, neighbours.pop(own)))
    for name, of_host in neighbours.items():
        hosts.learn(HostRecord(name, 1, 1, of_host))
    hosts.find_routes()
    return hosts


def test_what_a_host_says_of_itself_can_be_written_and_read() -> None:
    record = HostRecord(
        "thor", 1790000000, 4, {"orin": None, "spark": parse_scope("#a,#b")}, "in the cupboard"
    )

    line = format_record(record)

    assert line == "HOST thor 1790000000 4 orin spark=#a,#b :in the cupboard"
    assert parse_record(parse_line(line), NOW) == record


@pytest.mark.parametrize(
    "line",
    [
        "HOST spark 1790000000 2",
        "HOST sp-ark 1790000000 2 thor :",
        "HOST spark x 2 thor :",
        "HOST spark 1790000000 -1 thor :",
        # Spark itself would begin the one after it, and SQLite has no numbers for the next ones.
        "HOST spark 4294967294 2 thor :",
        f"HOST spark {NOW + AHEAD_S + 1} 2 thor :",
    ],
)
def test_what_says_nothing_of_a_host_is_refused(line: str) -> None:
    with pytest.raises(MalformedLine):
        parse_record(parse_line(line), NOW)


def test_a_host_may_have_begun_at_a_time_that_is_yet_to_come_or_that_a_clock_does_not_know_of() -> None:
    for now, generation in ((NOW, NOW + AHEAD_S), (0.0, NOW)):
        assert parse_record(parse_line(f"HOST spark {generation} 2 thor :"), now).generation == generation


def test_the_newest_counts() -> None:
    hosts = Hosts(HostRecord("spark", 1, 1))

    assert hosts.learn(HostRecord("thor", 5, 1))
    assert not hosts.learn(HostRecord("thor", 5, 1))
    assert not hosts.learn(HostRecord("thor", 4, 9))
    assert hosts.learn(HostRecord("thor", 5, 2))


def test_the_shortest_way_is_taken_and_of_two_the_first_by_name() -> None:
    hosts = mesh("spark", "spark-thor", "spark-juno", "thor-orin", "juno-orin", "orin-mars")

    assert hosts.routes["orin"].path == ("juno", "orin")
    assert hosts.routes["mars"].path == ("juno", "orin", "mars")
    assert set(hosts.routes) == {"thor", "juno", "orin", "mars"}


def test_a_full_way_is_better_than_a_short_one_that_is_limited() -> None:
    hosts = mesh("spark", "spark-orin=#a", "spark-thor", "thor-juno", "juno-orin")

    assert hosts.routes["orin"].path == ("thor", "juno", "orin")
    assert hosts.routes["orin"].scope is None


def test_a_limited_way_lets_through_what_all_its_links_do() -> None:
    hosts = mesh("spark", "spark-thor=#a,#b", "thor-orin=#b,#c")

    assert hosts.routes["orin"].scope == parse_scope("#b")


def test_a_link_that_only_one_side_knows_of_is_none() -> None:
    hosts = Hosts(HostRecord("spark", 1, 1, {"thor": None}))
    hosts.learn(HostRecord("thor", 1, 1))
    hosts.find_routes()

    assert hosts.routes == {}


def test_where_a_way_broke_can_be_told() -> None:
    hosts = mesh("spark", "spark-thor", "thor-orin")
    path = hosts.routes["orin"].path
    hosts.learn(HostRecord("thor", 1, 2, {"spark": None}))

    assert hosts.break_between(path) == ("thor", "orin")


def test_attempts_to_connect_come_later_and_later_and_never_together() -> None:
    now, chance = 0.0, 1.0
    dialing = DialSchedule(lambda: now, lambda: chance, max_pause_s=60.0)
    dialing.dial_now("thor")
    pauses = []
    for _ in range(10):
        assert dialing.due([]) == ["thor"]
        assert dialing.due([]) == []
        dialing.back_off("thor")
        at = dialing.next_at("thor")
        assert at is not None
        pauses.append(at - now)
        now = at

    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    chance = 0.0
    dialing.back_off("thor")
    assert dialing.next_at("thor") == now + 30


def test_who_is_linked_or_being_called_is_not_called() -> None:
    dialing = DialSchedule(lambda: 0.0, lambda: 1.0, max_pause_s=60.0)
    dialing.dial_now("thor")

    assert dialing.due(["thor"]) == []
    dialing.stop("thor")
    assert dialing.due([]) == []
