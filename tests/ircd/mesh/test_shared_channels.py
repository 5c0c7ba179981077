"""Channels that people of several hosts are in: what one host changes, and what two change at a time."""

from support.hosts import Mesh, two_in_ops

from culture.ircd.events import Redacted
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import STAMP_TAG


def test_who_makes_a_channel_is_its_operator_everywhere():
    mesh = Mesh("spark", "thor")
    mesh["spark"].client("ori", "#ops")
    mesh.settle()

    bo = mesh["thor"].client("bo")
    bo.send("JOIN #ops")
    mesh.settle()

    assert bo.lines() == [
        ":thor-bo!bo@spark JOIN #ops",
        ":thor 353 thor-bo = #ops :@spark-ori thor-bo",
        ":thor 366 thor-bo #ops :End of /NAMES list",
    ]


def test_modes_topic_kick_and_invite_work_across_hosts():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo, kit = mesh["thor"].client("bo", "#ops"), mesh["thor"].client("kit")
    mesh.settle()
    ori.lines()

    ori.send("MODE #ops +iv thor-bo", "TOPIC #ops :tea", "INVITE thor-kit #ops")
    mesh.settle()
    assert bo.lines() == [
        ":spark-ori!ori@spark MODE #ops +iv thor-bo",
        ":spark-ori!ori@spark TOPIC #ops :tea",
    ]
    assert kit.lines() == [":spark-ori!ori@spark INVITE thor-kit #ops"]
    kit.send("JOIN #ops")
    mesh.settle()
    ori.lines()

    ori.send("KICK #ops thor-kit :out")
    mesh.settle()
    assert kit.lines()[-1] == ":spark-ori!ori@spark KICK #ops thor-kit :out"
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_both_who_make_a_channel_at_a_time_are_its_operators():
    mesh = Mesh("spark", "thor")
    ori, bo = mesh["spark"].client("ori"), mesh["thor"].client("bo")
    mesh.settle()

    ori.send("JOIN #ops")
    bo.send("JOIN #ops")
    ori.lines(), bo.lines()
    mesh.settle()

    assert ori.lines() == [":thor-bo!bo@spark JOIN #ops", ":thor MODE #ops +o thor-bo"]
    assert bo.lines() == [":spark-ori!ori@spark JOIN #ops", ":spark MODE #ops +o spark-ori"]


def test_of_two_topics_at_a_time_the_later_one_is_seen_in_the_end():
    mesh, ori, bo = two_in_ops("MODE #ops -t")
    ori.lines(), bo.lines()

    ori.send("TOPIC #ops :coffee")
    mesh["thor"].network.clock.advance(1)
    bo.send("TOPIC #ops :tea")
    mesh.settle()

    assert ori.lines() == [":spark-ori!ori@spark TOPIC #ops :coffee", ":thor-bo!bo@spark TOPIC #ops :tea"]
    assert bo.lines() == [":thor-bo!bo@spark TOPIC #ops :tea"]


def test_who_knows_a_change_can_undo_it_however_late_their_clock_is():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    ori.send("MODE #ops -t")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    ori.send("TOPIC #ops :coffee")
    mesh.settle()
    ori.lines()
    mesh["thor"].network.clock.advance(-3600)

    bo.send("TOPIC #ops :tea")
    mesh["thor"].network.flush()
    [told] = mesh["thor"].unsent["spark"]
    mesh.settle()

    assert ori.lines() == [":thor-bo!bo@spark TOPIC #ops :tea"]
    # History has it at the time at which it was.
    assert told.at == 1_000_000 - 3600
    assert told.tags == {STAMP_TAG: "1000000001"}


def test_a_kick_finds_who_has_another_nick_by_now():
    mesh, ori, bo = two_in_ops()

    bo.send("NICK thor-b2")
    ori.send("KICK #ops thor-bo :out")
    mesh.settle()

    assert bo.lines()[-1] == ":spark-ori!ori@spark KICK #ops thor-b2 :out"
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_a_kick_does_not_hit_who_has_the_nick_by_now():
    mesh, ori, bo = two_in_ops()
    cy = mesh["thor"].client("cy", "#ops")
    mesh.settle()

    bo.send("NICK thor-b2")
    cy.send("NICK thor-bo")
    ori.send("KICK #ops thor-bo :out")
    mesh.settle()

    assert bo.lines()[-1] == ":spark-ori!ori@spark KICK #ops thor-b2 :out"
    members = mesh["spark"].ircd.state.channels["#ops"].members
    assert sorted(user.nick for user in members) == ["spark-ori", "thor-bo"]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_who_gets_a_status_keeps_it_whatever_their_nick_is_where_it_arrives():
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo, cy = mesh["thor"].client("bo", "#ops"), mesh["thor"].client("cy", "#ops")
    mesh.settle()

    bo.send("NICK thor-b2")
    cy.send("NICK thor-bo")
    mesh.arrive("thor", "orin")
    ori.send("MODE #ops +v thor-bo")
    mesh.settle()

    for host in mesh.hosts.values():
        channel = host.ircd.state.channels["#ops"]
        assert [user.nick for user, held in channel.members.items() if "v" in held] == ["thor-b2"]


def test_what_is_said_of_somebody_whom_no_host_told_of_yet_is_theirs_when_they_come():
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    mesh.arrive("thor", "spark")

    ori.send("MODE #ops +v thor-bo")
    mesh.arrive("spark", "orin")
    bo.send("NICK thor-b2")
    mesh.settle()

    assert mesh["spark"].picture() == mesh["thor"].picture() == mesh["orin"].picture()


def test_a_kick_that_comes_too_late_does_not_hit_who_came_back_since():
    mesh, ori, bo = two_in_ops()

    ori.send("KICK #ops thor-bo :out")
    mesh["thor"].network.clock.advance(1)
    bo.send("PART #ops", "JOIN #ops")
    mesh.settle()

    for host in mesh.hosts.values():
        channel = host.ircd.state.channels["#ops"]
        assert sorted(user.nick for user in channel.members) == ["spark-ori", "thor-bo"]


def test_what_was_set_in_a_channel_that_everybody_left_is_not_there_in_the_next_one():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    ori.send("MODE #ops +s", "TOPIC #ops :tea", "PART #ops")
    mesh.settle()

    mesh["thor"].client("bo", "#ops")
    mesh.settle()

    assert mesh["spark"].picture() == mesh["thor"].picture()
    channel = mesh["spark"].ircd.state.channels["#ops"]
    assert (channel.topic, sorted(channel.flags)) == (None, ["n", "t"])


def test_a_channel_goes_on_for_who_came_in_before_the_last_one_left():
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori", "#ops")
    ori.send("MODE #ops +s")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")

    ori.send("PART #ops")
    mesh.arrive("spark", "orin")
    assert not mesh["orin"].ircd.state.channels
    mesh.settle()

    bo.send("MODE #ops")
    assert bo.lines()[-2] == ":thor 324 thor-bo #ops +nst"
    assert all(host.ircd.state.closed == {"#ops"} for host in mesh.hosts.values())
    assert mesh["orin"].picture() == mesh["thor"].picture() == mesh["spark"].picture()


def test_a_channel_gets_another_name_on_all_hosts():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops", caps="draft/channel-rename")
    kit = mesh["thor"].client("kit", "#ops")
    mesh.settle()
    bo.lines(), kit.lines()

    ori.send("RENAME #ops #duty :clearer")
    kit.send("PRIVMSG #ops :hello")
    mesh.settle()

    assert bo.lines() == [
        ":thor-kit!kit@spark PRIVMSG #ops :hello",
        ":spark-ori!ori@spark RENAME #ops #duty :clearer",
    ]
    assert kit.lines()[:2] == [":thor-kit!kit@spark PART #ops :clearer", ":thor-kit!kit@spark JOIN #duty"]
    # It was said before its host knew.
    assert ori.lines()[-1] == ":thor-kit!kit@spark PRIVMSG #duty :hello"
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_the_name_that_a_channel_had_is_free_for_another():
    mesh = Mesh("spark", "thor")
    ori, kit = mesh["spark"].client("ori", "#ops"), mesh["spark"].client("kit")
    mesh["thor"].client("bo", "#ops")
    mesh.settle()

    ori.send("RENAME #ops #duty")
    kit.send("JOIN #ops", "TOPIC #ops :new")
    mesh.settle()

    assert sorted(mesh["thor"].picture()) == ["#duty", "#ops", "spark-kit", "spark-ori", "thor-bo"]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_where_there_is_a_channel_of_the_new_name_by_now_all_are_in_one():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo, kit = mesh["thor"].client("bo", "#ops"), mesh["thor"].client("kit")
    mesh.settle()
    bo.lines()

    kit.send("JOIN #duty", "TOPIC #duty :tea")
    ori.send("RENAME #ops #duty")
    mesh.settle()

    assert bo.lines()[:3] == [
        ":spark-ori!ori@spark PART #ops",
        ":thor-bo!bo@spark PART #ops",
        ":thor-bo!bo@spark JOIN #duty",
    ]
    assert sorted(mesh["spark"].picture()) == ["#duty", "spark-ori", "thor-bo", "thor-kit"]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_a_message_is_taken_back_on_all_hosts():
    mesh = Mesh("spark", "thor")
    mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    bo.session.set_caps({Cap.MESSAGE_REDACTION})
    bo.lines()
    ircd = mesh["spark"].ircd
    channel, user = ircd.state.find_channel("#ops"), ircd.state.find_user("spark-ori")
    assert channel is not None
    assert user is not None
    ircd.publish(Redacted(user, channel, "#ops", "m7", "wrong place"))
    mesh.settle()

    assert bo.lines() == [":spark-ori!ori@spark REDACT #ops m7 :wrong place"]


def test_a_message_that_was_taken_back_before_it_came_is_not_shown():
    mesh = Mesh("spark", "thor", "orin")
    bo = mesh["thor"].client("bo", "#ops")
    mesh.settle()
    ori = mesh["spark"].client("ori", "#ops", caps="message-tags echo-message")
    kit = mesh["orin"].client("kit", "#ops")
    mesh.settle()
    kit.session.set_caps({Cap.MESSAGE_REDACTION})
    ori.lines(), kit.lines()

    ori.send("PRIVMSG #ops :spam", "PRIVMSG #ops :tea")
    msgid = ori.lines()[0].partition(" ")[0].removeprefix("@msgid=")
    mesh.arrive("spark", "thor")
    ircd = mesh["thor"].ircd
    ircd.publish(Redacted(bo.session.user, ircd.state.find_channel("#ops"), "#ops", msgid, ""))
    mesh.arrive("thor", "orin")
    mesh.settle()

    assert kit.lines() == [
        f":thor-bo!bo@spark REDACT #ops {msgid}",
        ":spark-ori!ori@spark PRIVMSG #ops :tea",
    ]
