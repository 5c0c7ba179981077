"""Users of another host: seen, found, written to, and told of as if they were here."""

import pytest
from support.hosts import Mesh

from culture.config.ircd import OperConfig
from culture.ircd.skills import Asker, Found, Skill, Skills
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import EventRecord
from culture.protocol.line import MalformedLine
from culture.protocol.parties import parse_party

REDACTING = "message-tags draft/message-redaction"


class Watcher(Skill):
    """Finds every message that somebody names, as their own."""

    name = "watcher"
    records = frozenset({"PRIVMSG", "NOTICE", "TAGMSG", "REDACT"})
    caps = frozenset({Cap.MESSAGE_REDACTION})

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        (mine,) = asker.parties
        return Found(mine, 1_000_000.0, (mine, asker.named[fold(target)].party))


def test_somebody_who_comes_to_one_host_is_known_on_all():
    mesh = Mesh("spark", "thor", "orin")
    bo = mesh["thor"].client("bo")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()

    bo.send("WHOIS spark-ori", "WHO spark-ori", "ISON spark-ori thor-bo", "LIST", "NAMES #ops")

    assert bo.lines() == [
        ":thor 311 thor-bo spark-ori ori spark * :spark-ori",
        ":thor 319 thor-bo spark-ori :@#ops",
        ":thor 312 thor-bo spark-ori spark :spark of the lab",
        ":thor 317 thor-bo spark-ori 0 1000000 :seconds idle, signon time",
        ":thor 318 thor-bo spark-ori :End of /WHOIS list",
        ":thor 352 thor-bo * ori spark spark spark-ori H :1 spark-ori",
        ":thor 315 thor-bo spark-ori :End of WHO list",
        ":thor 303 thor-bo :spark-ori thor-bo",
        ":thor 321 thor-bo Channel :Users  Name",
        ":thor 322 thor-bo #ops 1 :",
        ":thor 323 thor-bo :End of /LIST",
        ":thor 353 thor-bo = #ops :@spark-ori",
        ":thor 366 thor-bo #ops :End of /NAMES list",
    ]
    assert ori.lines() == []


def test_whoever_monitors_a_nick_learns_that_it_comes_and_goes_elsewhere():
    mesh = Mesh("spark", "thor")
    bo = mesh["thor"].client("bo")
    bo.send("MONITOR + spark-ori,spark-o2")
    bo.lines()
    ori = mesh["spark"].client("ori")
    mesh.settle()
    assert bo.lines() == [":thor 730 thor-bo :spark-ori!ori@spark"]

    ori.send("NICK spark-o2")
    mesh.settle()
    assert bo.lines() == [":thor 731 thor-bo :spark-ori", ":thor 730 thor-bo :spark-o2!ori@spark"]

    ori.send("QUIT :bye")
    mesh.settle()
    assert bo.lines() == [":thor 731 thor-bo :spark-o2"]
    bo.send("WHOWAS spark-o2")
    assert bo.lines()[:2] == [
        ":thor 314 thor-bo spark-o2 ori spark * :spark-ori",
        ":thor 312 thor-bo spark-o2 spark :1970-01-12T13:46:40.000Z",
    ]


def test_what_changes_about_somebody_is_told_to_those_who_see_them():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops", caps="away-notify setname draft/metadata-3")
    bo.send("METADATA * SUB url")
    bo.lines()

    ori.send(
        "AWAY :tea", "SETNAME :Ori of Spark", "METADATA * SET url :https://example.org", "MODE spark-ori +B"
    )
    mesh.settle()

    assert bo.lines() == [
        ":spark-ori!ori@spark AWAY :tea",
        ":spark-ori!ori@spark SETNAME :Ori of Spark",
        ":thor 761 thor-bo spark-ori url * :https://example.org",
    ]
    bo.send("WHOIS spark-ori")
    assert ":thor 335 thor-bo spark-ori :is a bot on this network" in bo.lines()


def test_a_direct_message_goes_to_one_other_host_with_its_time_and_name():
    mesh = Mesh("spark", "thor", "orin")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo", caps="message-tags server-time")
    kit = mesh["orin"].client("kit")
    mesh.settle()
    mesh["thor"].network.clock.advance(60)

    ori.send("PRIVMSG thor-bo :psst")
    mesh["spark"].network.flush()
    assert [each.to for each in mesh["spark"].unsent["thor"]] == ["thor"]
    assert not mesh["spark"].unsent["orin"]
    mesh.settle()

    [line] = bo.lines()
    assert line.startswith("@time=1970-01-12T13:46:40.000Z;msgid=")
    assert line.endswith(" :spark-ori!ori@spark PRIVMSG thor-bo :psst")
    assert kit.lines() == []


def test_an_account_is_one_of_its_host():
    """Somebody else may have one of the same name: what is direct is theirs alone."""
    mesh = Mesh("spark", "thor")
    taken: list[EventRecord] = []
    mesh["thor"].ircd.record.add_remote = taken.append
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()
    ori.session.user.account = bo.session.user.account = "root"
    mesh["spark"].ircd.state.users[bo.session.user.key].account = "root"

    ori.send("PRIVMSG thor-bo :psst")
    mesh.settle()

    assert [end.text for end in taken[-1].ends or ()] == ["account:root@spark", "account:root"]


def test_what_two_users_of_one_host_write_to_each_other_crosses_no_link():
    mesh = Mesh("spark", "thor", skills=Skills([Watcher()]))
    ori, bo = mesh["spark"].client("ori", caps=REDACTING), mesh["spark"].client("bo", caps=REDACTING)
    mesh.settle()
    ori.send("PRIVMSG spark-bo :psst", "NOTICE spark-bo :psst", "@+x=psst TAGMSG spark-bo")
    ori.send("PRIVMSG spark-ori :psst to myself", "REDACT spark-bo m1")
    mesh["spark"].network.flush()

    assert [line.split(" ")[2] for line in bo.lines()] == ["PRIVMSG", "NOTICE", "TAGMSG", "REDACT"]
    assert not mesh["spark"].unsent["thor"]


def test_a_host_that_is_told_what_others_write_to_each_other_refuses_it():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori")
    mesh["thor"].client("bo")
    mesh.settle()
    ori.send("PRIVMSG thor-bo :psst")
    mesh["spark"].network.flush()
    [told] = mesh["spark"].unsent["thor"]
    for wrong in (told._replace(to=""), told._replace(ends=None), told._replace(target="#ops")):
        with pytest.raises(MalformedLine):
            mesh["thor"].mesh.apply_event(wrong, is_replayed=False)


def test_a_direct_message_is_not_shown_to_who_took_the_nick_while_it_was_on_its_way():
    mesh = Mesh("spark", "thor")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()
    ori.send("PRIVMSG thor-bo :psst")
    bo.send("QUIT")
    thief = mesh["thor"].client("bo")
    mesh.settle()
    assert thief.lines() == []

    ori.send("PRIVMSG thor-bo :hello")
    mesh.settle()
    assert thief.lines() == [":spark-ori!ori@spark PRIVMSG thor-bo :hello"]


def test_a_direct_message_follows_a_user_who_changed_nicks_while_it_was_on_its_way():
    mesh = Mesh("spark", "thor")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()
    ori.send("PRIVMSG thor-bo :psst")
    bo.send("NICK thor-bo2")
    bo.lines()
    mesh.settle()
    assert [line.rpartition(" :")[2] for line in bo.lines()] == ["psst"]


@pytest.mark.parametrize(
    "ends",
    [
        "account:bo@thor account:bo@thor",
        "account:ori@spark account:bo@orin",
        "session:1@orin account:bo@thor",
        "account:ori@spark account:ori@spark",
    ],
)
def test_a_host_speaks_for_its_own_users_to_those_of_the_host_that_it_writes_to(ends: str):
    mesh = Mesh("spark", "thor")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()
    ori.send("PRIVMSG thor-bo :psst")
    mesh["spark"].network.flush()
    [told] = mesh["spark"].unsent["thor"]
    one, other = map(parse_party, ends.split(" "))
    with pytest.raises(MalformedLine):
        mesh["thor"].mesh.apply_event(told._replace(ends=(one, other)), is_replayed=False)
    assert bo.lines() == []


def test_direct_messages_are_refused_where_none_get_through():
    mesh = Mesh("spark", "thor")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()
    mesh["spark"].direct = False

    ori.send("PRIVMSG thor-bo :psst")
    mesh.settle()

    assert ori.lines() == [":spark 531 spark-ori thor-bo :Direct messages cannot reach thor"]
    assert bo.lines() == []


def test_a_message_of_several_lines_is_whole_on_the_other_side():
    mesh = Mesh("spark", "thor")
    caps = "batch message-tags draft/multiline"
    ori = mesh["spark"].client("ori", "#ops", caps=caps)
    mesh.settle()
    bo, kit = mesh["thor"].client("bo", "#ops", caps=caps), mesh["thor"].client("kit", "#ops")
    bo.lines()

    ori.send(
        "BATCH +1 draft/multiline #ops",
        "@batch=1 PRIVMSG #ops :one",
        "@batch=1 PRIVMSG #ops :two ",
        "@batch=1;draft/multiline-concat PRIVMSG #ops :three",
        "BATCH -1",
    )
    mesh.settle()

    opening, *lines, _ = bo.lines()
    msgid = opening.split(" ")[0].removeprefix("@msgid=")
    assert lines == [
        f"@batch={msgid} :spark-ori!ori@spark PRIVMSG #ops :one",
        f"@batch={msgid} :spark-ori!ori@spark PRIVMSG #ops :two ",
        f"@batch={msgid};draft/multiline-concat :spark-ori!ori@spark PRIVMSG #ops :three",
    ]
    assert kit.lines() == [f":spark-ori!ori@spark PRIVMSG #ops :{text}" for text in ("one", "two ", "three")]


def test_a_mention_reaches_who_is_not_in_the_channel():
    mesh = Mesh("spark", "thor")
    bo = mesh["thor"].client("bo")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()

    ori.send("PRIVMSG #ops :@thor-bo look")
    mesh.settle()

    assert bo.lines() == [":thor NOTICE thor-bo :spark-ori mentioned you in #ops"]


def test_operators_of_a_channel_are_written_to_wherever_they_are():
    mesh = Mesh("spark", "thor")
    bo = mesh["thor"].client("bo", "#ops")
    kit = mesh["thor"].client("kit", "#ops")
    mesh.settle()
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo.lines(), kit.lines()

    ori.send("NOTICE @#ops :who is on duty?")
    mesh.settle()

    assert bo.lines() == [":spark-ori!ori@spark NOTICE @#ops :who is on duty?"]
    assert kit.lines() == []


ROOT = OperConfig("root", password_credential="root")


def oper_mesh() -> Mesh:
    mesh = Mesh("spark", "thor", opers=(ROOT,))
    for host in mesh.hosts.values():
        host.ircd.oper_passwords = {"root": "secret"}
    return mesh


def test_an_operator_closes_a_connection_on_another_host():
    mesh = oper_mesh()
    root, bo = mesh["spark"].client("root", "#ops"), mesh["thor"].client("bo", "#ops")
    mesh.settle()
    root.send("OPER root secret")
    root.lines(), bo.lines()

    root.send("KILL thor-bo :spam")
    mesh.settle()

    assert bo.lines() == [
        ":spark-root!root@spark KILL thor-bo :spam",
        ":thor-bo!bo@spark QUIT :Killed (spark-root (spam))",
        "ERROR :Closing Link: spark (Killed (spark-root (spam)))",
    ]
    assert root.lines() == [":thor-bo!bo@spark QUIT :Killed (spark-root (spam))"]


def test_a_kill_meets_whom_it_was_meant_for_although_somebody_else_has_the_nick_by_now():
    mesh = oper_mesh()
    root = mesh["spark"].client("root", "#ops")
    bo, eve = mesh["thor"].client("bo", "#ops"), mesh["thor"].client("eve", "#ops")
    mesh.settle()
    root.send("OPER root secret")
    root.lines(), bo.lines(), eve.lines()

    bo.send("NICK thor-bob")
    eve.send("NICK thor-bo")
    root.send("KILL thor-bo :spam")
    mesh.settle()

    assert bo.lines()[-1] == "ERROR :Closing Link: spark (Killed (spark-root (spam)))"
    assert eve.lines()[-1] == ":thor-bob!bo@spark QUIT :Killed (spark-root (spam))"


def test_operators_are_heard_on_all_hosts_by_those_who_want_to():
    mesh = oper_mesh()
    root, bo, eve = mesh["spark"].client("root"), mesh["thor"].client("bo"), mesh["thor"].client("eve")
    bo.send("MODE thor-bo +w")
    mesh.settle()
    root.send("OPER root secret", "MODE spark-root +w")
    root.lines(), bo.lines(), eve.lines()

    root.send("WALLOPS :thor restarts at noon")
    mesh.settle()

    told = ":spark-root!root@spark WALLOPS :thor restarts at noon"
    assert (root.lines(), bo.lines(), eve.lines()) == ([told], [told], [])


def test_what_stands_behind_a_nick_is_for_its_own_host_to_say():
    mesh = oper_mesh()
    root, bo = mesh["spark"].client("root"), mesh["thor"].client("bo")
    mesh.settle()
    root.send("OPER root secret", "WHOIS thor-bo")
    root.lines()

    root.send("CHGHOST thor-bo x y")

    assert root.lines() == [
        ":spark FAIL CHGHOST CANNOT_CHANGE_HOST thor-bo "
        ":thor-bo is on thor; only an operator there can change it"
    ]
    assert bo.session.user.mask == "thor-bo!bo@spark"


@pytest.mark.parametrize("forger", ["spark-x", "orin-x"])
def test_a_host_speaks_for_nobody_who_is_not_on_it(forger: str):
    mesh = Mesh("spark", "thor", "orin")
    mesh["orin"].client("x", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    bo.lines()

    forged = EventRecord("m", 1.0, "QUIT", "", f"{forger}!x@h", None, "bye", origin="spark", seq=9)
    mesh["thor"].mesh.apply_event(forged, is_replayed=False)

    assert bo.lines() == []
    assert mesh["thor"].ircd.state.find_user("orin-x") is not None


def test_of_channels_that_somebody_left_not_more_is_kept_than_other_hosts_may_ask_for():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    for number in range(200):
        ori.send(f"JOIN #a{number}", f"PART #a{number}")
    mesh.settle()

    standings = ori.session.user.standings
    assert len(standings) <= 101
    assert "#ops" in standings
