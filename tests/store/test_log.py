"""The log of an origin: read by numbers, held without duplicates, and known again after a crash."""

import contextlib
import os
import sqlite3
from pathlib import Path

from culture.names import Folded, fold
from culture.protocol.event_record import GENERATION_SHIFT, GENERATIONS, MADE_TAG, EventRecord
from culture.protocol.parties import parse_party
from culture.store.database import MIGRATIONS, prepare
from culture.store.history.archive import Archive
from culture.store.history.log import read_log
from culture.store.history.reading import (
    ALWAYS,
    BEGINNING,
    END,
    LAST,
    View,
    find_place,
    rows_of,
    seated,
    window,
)
from culture.store.history.search import find, parse_query

ENDS = (parse_party("account:ori@thor"), parse_party("account:kit"))


def number(generation: int, counter: int) -> int:
    return generation << GENERATION_SHIFT | counter


def said(seq: int, target: str = "#ops", text: str = "", origin: str = "thor", **rest: object) -> EventRecord:
    happening = EventRecord(
        f"m{origin}{seq:x}", 1000.0 + seq % 1000 / 1000, "PRIVMSG", target, "thor-ori!o@h", "ori", text
    )
    return happening._replace(origin=origin, seq=seq, **rest)


def log(archive: Archive, origin: str = "thor", most: int = 100, **which: object) -> list[EventRecord]:
    after = which.pop("after", {})
    with archive.reading() as connection:
        return read_log(connection, origin, after, most, **which)


def test_what_was_told_is_read_as_it_was(tmp_path: Path):
    archive = Archive(tmp_path)
    told = [
        said(number(7, 1), text="one\ntwo", tags={"+x": "1"}, is_public=True),
        said(number(7, 2), target="@#ops"),
        said(number(7, 4), command="KICK", params=("thor-bo",), text="go"),
        said(
            number(7, 5), target="", command="NICK", text="thor-o", channels=(("#ops", True), ("#b", False))
        ),
        said(number(8, 1), target="#Ops", command="TOPIC", text="tea"),
    ]
    archive.append(told)
    spelled = told[-1]._replace(target="#ops")
    assert log(archive) == [*told[:-1], spelled]
    archive.close()


def test_it_goes_on_behind_what_somebody_has_of_each_generation(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(number(generation, counter)) for generation in (0, 7, 9) for counter in (1, 2, 3)])
    after = {0: number(0, 3), 7: number(7, 2)}
    wanted = [number(7, 3), number(9, 1), number(9, 2), number(9, 3)]
    assert [each.seq for each in log(archive, after=after)] == wanted
    assert [each.seq for each in log(archive, after=after, most=2)] == wanted[:2]
    assert log(archive, origin="orin") == []
    archive.close()


def test_what_crosses_no_link_is_not_in_it(tmp_path: Path):
    archive = Archive(tmp_path)
    ends = (parse_party("account:ori@thor"), parse_party("account:bo"))
    direct = said(2, "spark-bo", ends=ends, to="spark")
    archive.append([said(1), direct, said(3, is_local=True), said(4, "thor-kit", ends=ENDS), said(5)])
    assert [each.seq for each in log(archive)] == [1, 5]
    assert log(archive, to="spark") == [direct]
    assert log(archive, to="orin") == []
    archive.close()


def test_of_some_channels_nothing_else_is_told(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append(
        [
            *(said(1, "#a"), said(2, "@#A"), said(3, "#b")),
            said(4, "", command="QUIT", channels=(("#a", True), ("#b", True))),
            said(5, "", command="QUIT", channels=(("#b", True),)),
        ]
    )
    found = log(archive, channels=frozenset({fold("#a")}))
    assert [each.seq for each in found] == [1, 2, 4]
    assert found[-1].channels == (("#a", True),)
    archive.close()


def test_what_was_taken_back_is_not_passed_on(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1, text="oops"), said(2, command="REDACT", params=("mthor1",))])
    assert [(each.command, each.params) for each in log(archive)] == [("REDACT", ("mthor1",))]
    archive.close()


def test_what_was_said_may_come_after_it_was_taken_back_on_another_host(tmp_path: Path):
    archive = Archive(tmp_path)
    redaction = said(1, origin="orin", command="REDACT", params=("mthor1",))
    for happened in ([redaction], [said(1, text="oops")], [said(2, text="fine")]):
        archive.append(happened)
        archive.catch_up()
    archive.append([said(9, origin="orin", command="REDACT", params=("mthor3",)), said(3, text="oops")])
    assert [each.text for each in log(archive)] == ["fine"]
    archive.close()


def test_a_host_takes_back_direct_messages_of_its_own_users_alone(tmp_path: Path):
    archive = Archive(tmp_path)
    mine, theirs = (
        said(1, "thor-ori", "mine", origin="", ends=ENDS[::-1]),
        said(1, "kit", "theirs", ends=ENDS),
    )
    archive.append([mine._replace(id="m1", to="thor"), theirs._replace(id="m2", to="spark")])
    for number, msgid in enumerate(("m1", "m2", "m3"), 2):
        archive.append([said(number, "kit", command="REDACT", params=(msgid,), to="spark", ends=ENDS)])
    archive.catch_up()
    archive.append([mine._replace(id="m3", to="thor", text="mine too", seq=2)])
    with archive.reading() as connection:
        rows = connection.execute(
            "SELECT text FROM events WHERE command = 'PRIVMSG' ORDER BY text"
        ).fetchall()
    assert rows == [("",), ("mine",), ("mine too",)]
    archive.close()


def test_a_renamed_channel_is_told_by_both_names(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1, "#a"), said(2, "#a", command="RENAME", params=("#b",))])
    assert [(each.target, each.params) for each in log(archive)] == [("#b", ()), ("#a", ("#b",))]
    archive.close()


def test_what_was_said_under_another_name_is_not_told_where_only_the_new_name_is_allowed(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append(
        [
            said(1, "#secret", "the plan"),
            said(2, "@#secret", "for operators"),
            said(3, "#secret", command="RENAME", params=("#open",)),
            said(4, "#open", "hello"),
            said(5, "@#open", "operators again"),
        ]
    )

    def texts(*channels: str) -> list[str]:
        found = log(archive, channels=frozenset(map(fold, channels)))
        return [each.text for each in found if each.command == "PRIVMSG"]

    assert texts("#open") == ["hello", "operators again"]
    assert texts("#secret") == []
    assert texts("#open", "#secret") == ["the plan", "for operators", "hello", "operators again"]
    archive.append(
        [
            said(6, "#open", command="RENAME", params=("#closed",)),
            said(7, "#closed", "behind doors"),
            said(8, "#closed", command="RENAME", params=("#Open",)),
            said(9, "#open", "open again"),
        ]
    )
    assert texts("#open") == ["hello", "operators again", "open again"]
    archive.close()


def test_what_comes_twice_is_filed_once(tmp_path: Path):
    archive = Archive(tmp_path)
    quit_of = said(2, "", command="QUIT")
    archive.append([said(1), quit_of._replace(channels=(("#a", True),))])
    archive.catch_up()
    archive.append([said(1), quit_of._replace(channels=(("#a", True), ("#b", True))), said(1, origin="orin")])
    (one, left) = log(archive)
    assert (one.seq, left.channels) == (1, (("#a", True), ("#b", True)))
    assert len(log(archive, origin="orin")) == 1
    archive.close()


def test_what_is_held_is_known_after_a_crash_filed_or_not(tmp_path: Path):
    crashed = Archive(tmp_path)
    crashed.append([said(number(7, 5)), said(number(7, 9), to="spark", ends=ENDS)])
    crashed.catch_up()
    crashed.append([said(number(8, 1)), said(number(7, 6)), said(3, origin="")])
    os.close(crashed.journal._lock)
    again = Archive(tmp_path)
    assert again.holdings() == {
        "thor": {"*": {7: number(7, 6), 8: number(8, 1)}, ">spark": {7: number(7, 9)}},
        "": {"*": {0: 3}},
    }
    again.catch_up()
    assert again.holdings()["thor"]["*"] == {7: number(7, 6), 8: number(8, 1)}
    again.close()
    crashed._connection.close()


def test_a_history_from_before_there_were_links_is_its_hosts_own(tmp_path: Path):
    old = tmp_path / "old"
    old.mkdir()
    (first,) = (MIGRATIONS / "history").glob("0001-*")
    (old / first.name).write_text(first.read_text())
    prepare(tmp_path / "history.db", old)
    with contextlib.closing(sqlite3.connect(tmp_path / "history.db")) as connection, connection:
        connection.execute("INSERT INTO places VALUES (1, '#ops', '#ops')")
        connection.execute("INSERT INTO sources VALUES (1, 'spark-ori!o@h', '')")
        connection.execute("INSERT INTO origins VALUES (1, '', 41)")
        connection.execute(
            "INSERT INTO events VALUES (1, 1, 1000, 'm', 1, 41, 'PRIVMSG', 1, 1, 0, NULL, 'tea', NULL, NULL)"
        )
    archive = Archive(tmp_path)
    assert archive.holdings() == {"": {"*": {0: 41}}}
    assert [each.text for each in log(archive, origin="")] == ["tea"]
    archive.close()


def test_somebody_is_in_each_life_of_a_channel_from_their_first_coming_on_whichever_is_told_first(
    tmp_path: Path,
):
    archive = Archive(tmp_path)
    made = {MADE_TAG: ""}
    joins = [
        *(said(500, command="JOIN"), said(100, command="JOIN", origin="orin"), said(600, command="JOIN")),
        *(said(at, command="JOIN", account="bo", tags=made) for at in (50, 700, 800)),
        *(said(850, command="JOIN"), said(860, command="JOIN")),
    ]
    archive.append(
        [
            join if join.account == "bo" else join._replace(account=None, session_id="5f0c", origin="thor")
            for join in joins
        ]
    )
    with archive.reading() as connection:
        guest = parse_party("session:5f0c@thor")
        assert seated(connection, 1, [guest]) == [(1000850, LAST), (1000100, 1000699)]
        assert seated(connection, 1, [parse_party("account:bo@thor")]) == [
            (1000800, LAST),
            (1000700, 1000799),
            (1000050, 1000699),
        ]
        assert seated(connection, 1, [parse_party("session:none")]) == []
        (seats,) = connection.execute("SELECT count(*) FROM seats WHERE end = ?", (guest.text,)).fetchone()
        assert seats == 3
    archive.close()


def test_an_account_of_another_host_is_not_the_one_of_the_same_name_here(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(100, command="JOIN"), said(500, command="JOIN", origin="")])
    with archive.reading() as connection:
        seats = dict(connection.execute("SELECT end, joined_at_ms FROM seats").fetchall())
    assert seats == {"account:ori@thor": 1000100, "account:ori": 1000500}
    archive.close()


def test_it_is_found_by_index(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(1), said(2, to="spark", ends=ENDS)])
    plans: list[str] = []
    with archive.reading() as connection:
        connection.set_trace_callback(plans.append)
        read_log(connection, "thor", {}, 10)
        read_log(connection, "thor", {}, 10, to="spark")
        read_log(connection, "thor", {}, 10, channels=frozenset({Folded("#ops")}))
        connection.set_trace_callback(None)
        queries = [plan for plan in plans if "FROM events" in plan]
        steps = [[row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")] for query in queries]
    by_number = "SEARCH events USING INDEX events_by_number (origin=? AND seq>? AND seq<?)"
    to_host = "SEARCH events USING INDEX events_to_hosts (origin=? AND to_host=? AND seq>? AND seq<?)"
    renames = "SEARCH events USING INDEX renames (place=?)"
    assert [steps[0][0], steps[1][0], steps[2][1], steps[3][0]] == [by_number, to_host, renames, by_number]
    archive.close()


def test_what_came_late_is_found_by_its_own_time(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(500, text="disk is full", origin="")])
    archive.append([said(100, text="disk is slow")])
    archive.catch_up()
    archive.index_for(10.0)
    with archive.reading() as connection:
        hits = find(connection, parse_query("disk before:1970-01-01T00:16:40.300"), None)
        assert [row.text for row in rows_of(connection, [hit.number for hit in hits])] == ["disk is slow"]
    archive.close()


def test_what_two_hosts_numbered_alike_at_the_same_moment_has_one_order_and_can_be_paged(tmp_path: Path):
    orders = []
    for name, origins in (("here", ("thor", "orin")), ("there", ("orin", "thor"))):
        archive = Archive(tmp_path / name)
        archive.append([said(number(7, 1), origin=origin, is_public=True) for origin in origins])
        with archive.reading() as connection:
            place, _ = find_place(connection, "#ops") or (0, "")
            views = [View(place, [ALWAYS])]
            [first] = window(connection, views, BEGINNING, END, 1, ["PRIVMSG"], latest=False)
            [second] = window(connection, views, first.point, END, 1, ["PRIVMSG"], latest=False)
        orders.append([first.msgid, second.msgid])
        archive.close()
    assert orders[0] == orders[1]


def test_what_others_give_back_as_ours_does_not_use_up_our_numbers(tmp_path: Path):
    archive = Archive(tmp_path)
    archive.append([said(number(each, 1), origin="") for each in (1_800_000_007, GENERATIONS - 1)])

    assert archive.begin_generation(1_800_000_000) == 1_800_000_008
    assert archive.begin_generation(1_800_000_000) == 1_800_000_009
    archive.close()
