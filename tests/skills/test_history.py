"""HISTORY: what was said, for those who may read it."""

from pathlib import Path

import pytest
from support.history import remembering
from support.network import Client, Network

from culture.names import fold
from culture.protocol.event_record import EventRecord
from culture.skills.urlindex import UrlIndex

AT = "1970-01-12T13:46:40.000Z"


def texts(client: Client, line: str) -> list[str]:
    """What a HISTORY command answers: the texts alone."""
    client.lines()
    client.send(line)
    *rows, last = client.lines()
    assert last.split(" ")[1] in ("HISTORYEND", "FAIL"), last
    return [last] if " FAIL " in last else [row.partition("Z :")[2] for row in rows]


def test_recent_tells_who_said_what_and_when(network: Network):
    ori = network.client("spark-ori", "#ops")
    bo = network.client("spark-bo", "#ops")
    ori.send("PRIVMSG #Ops :one", "NOTICE #ops :two")
    bo.lines()
    bo.send("PRIVMSG #ops :three", "HISTORY RECENT #OPS 2", "HISTORY recent #ops")
    assert bo.lines() == [
        f":spark HISTORY #ops spark-ori {AT} :two",
        f":spark HISTORY #ops spark-bo {AT} :three",
        ":spark HISTORYEND #ops :End of results",
        f":spark HISTORY #ops spark-ori {AT} :one",
        f":spark HISTORY #ops spark-ori {AT} :two",
        f":spark HISTORY #ops spark-bo {AT} :three",
        ":spark HISTORYEND #ops :End of results",
    ]


def test_since_a_message_or_a_time(network: Network):
    ori = network.client("spark-ori", "#ops", caps="echo-message message-tags")
    for number in range(5):
        network.clock.advance(1)
        ori.send(f"PRIVMSG #ops :{number}")
    msgid = ori.lines()[2].split(" ")[0].removeprefix("@msgid=")
    assert texts(ori, f"HISTORY SINCE #ops {msgid}") == ["3", "4"]
    assert texts(ori, f"HISTORY SINCE #ops {msgid} 1") == ["3"]
    assert texts(ori, "HISTORY SINCE #ops 1970-01-12T13:46:43.000Z") == ["3", "4"]
    assert texts(ori, "HISTORY SINCE #ops nosuch") == [
        ":spark FAIL HISTORY MESSAGE_ERROR #ops nosuch :There is no such message"
    ]


def test_the_same_command_may_follow_what_was_just_said(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.send_bytes(b"PRIVMSG #ops :one\r\nHISTORY RECENT #ops 1\r\n")
    assert ori.lines()[0] == f":spark HISTORY #ops spark-ori {AT} :one"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("HISTORY", ":spark FAIL HISTORY INVALID_PARAMS * :Insufficient parameters"),
        ("HISTORY RECENT", ":spark FAIL HISTORY INVALID_PARAMS RECENT :Insufficient parameters"),
        ("HISTORY SINCE #ops", ":spark FAIL HISTORY INVALID_PARAMS SINCE :Insufficient parameters"),
        ("HISTORY NONE #ops", ":spark FAIL HISTORY INVALID_PARAMS NONE :Unknown command"),
        ("HISTORY RECENT #ops x", ":spark FAIL HISTORY INVALID_PARAMS x :That is no number of messages"),
        ("HISTORY RECENT #ops 0", ":spark FAIL HISTORY INVALID_PARAMS 0 :That is no number of messages"),
        (
            "HISTORY RECENT #ops \u0663",
            ":spark FAIL HISTORY INVALID_PARAMS \u0663 :That is no number of messages",
        ),
        ("HISTORY RECENT #none 5", ":spark FAIL HISTORY INVALID_TARGET #none :You cannot read that"),
        ("HISTORY RECENT a!b 5", ":spark FAIL HISTORY INVALID_TARGET a!b :You cannot read that"),
    ],
)
def test_mistakes_are_told(network: Network, line: str, answer: str):
    ori = network.client("spark-ori", "#ops")
    ori.send(line)
    assert ori.lines() == [answer]


def test_a_public_channel_can_be_read_by_everybody_also_when_it_is_gone(network: Network):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :one")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["one"]
    ori.send("PART #ops")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["one"]


@pytest.mark.parametrize("mode", ["+s", "+i", "+k sesame"])
def test_another_channel_only_by_its_members(network: Network, mode: str):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :open", f"MODE #ops {mode}", "PRIVMSG #ops :closed")
    refused = [":spark FAIL HISTORY INVALID_TARGET #ops :You cannot read that"]
    assert texts(bo, "HISTORY RECENT #ops 5") == refused
    assert texts(ori, "HISTORY RECENT #ops 5") == ["open", "closed"]
    ori.send(f"MODE #ops {mode.replace('+', '-')}")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["open"]


@pytest.mark.parametrize("modes", ["+b spark-bo", "+R"])
def test_a_public_channel_not_by_whom_it_keeps_out(network: Network, modes: str):
    """IRCv3 chathistory, Security Considerations."""
    ori, lea = network.client("spark-ori", "#ops"), network.client("spark-lea")
    bo = network.client("spark-bo", "#ops", caps="draft/chathistory batch")
    ori.send("PRIVMSG #ops :one", f"MODE #ops {modes}")
    targets = "timestamp=1970-01-01T00:00:00.000Z timestamp=2030-01-01T00:00:00.000Z 10"
    assert texts(bo, "HISTORY RECENT #ops 5") == texts(bo, "HISTORY SEARCH * one") == ["one"]
    bo.send(f"CHATHISTORY TARGETS {targets}")
    assert len(bo.lines()) == 3
    bo.send("PART #ops", "JOIN #ops")
    assert bo.numerics()[-1] in ("474", "477")
    refused = [":spark FAIL HISTORY INVALID_TARGET #ops :You cannot read that"]
    assert texts(bo, "HISTORY RECENT #ops 5") == texts(bo, "HISTORY SEARCH #ops one") == refused
    assert texts(bo, "HISTORY SEARCH * one") == []
    bo.send("CHATHISTORY LATEST #ops * 5", f"CHATHISTORY TARGETS {targets}")
    refusal, *batch = bo.lines()
    assert refusal == ":spark FAIL CHATHISTORY INVALID_TARGET LATEST #ops :Messages could not be retrieved"
    assert len(batch) == 2
    lea.session.user.account = "lea"
    assert texts(lea, "HISTORY RECENT #ops 5") == ["one"]
    ori.send(f"MODE #ops {modes.replace('+', '-')}")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["one"]


@pytest.mark.parametrize("modes", ["+b ~m:spark-bo", "+be spark-bo spark-*", "+b ~a:bo", "+b spark-lea"])
def test_who_is_muted_or_exempt_reads(network: Network, modes: str):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :one", f"MODE #ops {modes}")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["one"]


def test_a_ban_is_of_its_channel_alone(network: Network):
    ori, bo = network.client("spark-ori", "#ops", "#dev"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :one", "PRIVMSG #dev :two", "MODE #ops +b spark-bo", "RENAME #ops #new")
    assert texts(bo, "HISTORY SEARCH * from:spark-ori") == ["two"]
    ori.send("JOIN #ops", "PRIVMSG #ops :anew", "PART #new")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["anew"]
    assert texts(bo, "HISTORY RECENT #new 5") == ["one"]


def test_who_makes_a_channel_anew_does_not_read_what_was_closed_before(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.send("MODE #ops +s", "PRIVMSG #ops :closed")
    ori.send("PART #ops")
    network.clock.advance(10)
    bo = network.client("spark-bo", "#ops")
    bo.send("PRIVMSG #ops :mine")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["mine"]
    ori.send("JOIN #ops")
    assert texts(ori, "HISTORY RECENT #ops 5") == ["closed", "mine"]


def test_who_was_in_a_channel_of_that_name_does_not_read_those_that_they_were_not_in(network: Network):
    mia = network.client("spark-mia", "#ops")
    mia.send("MODE #ops +s", "PRIVMSG #ops :mine", "PART #ops")
    network.clock.advance(60)
    bo = network.client("spark-bo", "#ops")
    bo.send("MODE #ops +s", "PRIVMSG #ops :secret")
    network.clock.advance(60)
    bo.send("PART #ops")
    network.clock.advance(60)
    for reader, read in ((mia, ["mine", "new"]), (bo, ["secret", "new"])):
        reader.send("JOIN #ops", "MODE #ops +s")
        if reader is mia:
            reader.send("PRIVMSG #ops :new")
        reader.lines()
        reader.send("HISTORY RECENT #ops 9", "HISTORY SEARCH #ops :mine", "HISTORY SEARCH #ops :secret")
        said = [line.rpartition(" :")[2] for line in reader.lines() if " HISTORY " in line]
        assert said == [*read, read[0]]


def test_who_renames_a_channel_does_not_read_another_that_had_the_name(network: Network):
    mia = network.client("spark-mia", "#mine", caps="draft/message-redaction")
    bo = network.client("spark-bo", "#ops")
    bo.send("MODE #ops +s", "PRIVMSG #ops :secret", "PRIVMSG @#ops :more secret")
    network.clock.advance(60)
    mia.send("MODE #mine +s", "PRIVMSG #mine :mine")
    bo.send("PART #ops")
    network.clock.advance(60)
    mia.send("RENAME #mine #ops", "PRIVMSG #ops :new")
    for name in ("#ops", "#other"):
        mia.lines()
        mia.send(f"HISTORY RECENT {name} 9", f"HISTORY RECENT @{name} 9", "HISTORY SEARCH * :secret")
        assert [line.rpartition(" :")[2] for line in mia.lines() if " HISTORY " in line] == ["new"]
        mia.send("RENAME #ops #other")


def test_direct_messages_are_for_their_two_ends(network: Network):
    ori, bo, lea = (network.client(f"spark-{name}") for name in ("ori", "bo", "lea"))
    ori.send("PRIVMSG spark-bo :one")
    bo.send("PRIVMSG spark-ori :two")
    ori.send("PRIVMSG spark-ori :note to self")
    assert texts(ori, "HISTORY RECENT spark-bo 5") == ["one", "two"]
    assert texts(bo, "HISTORY RECENT SPARK-ORI 5") == ["one", "two"]
    assert texts(ori, "HISTORY RECENT spark-ori 5") == ["note to self"]
    assert texts(lea, "HISTORY RECENT spark-ori 5") == []
    assert texts(lea, "HISTORY RECENT spark-bo 5") == []


def test_a_nick_that_anybody_may_take_reads_what_was_said_since(tmp_path: Path):
    with remembering(tmp_path, nick_policy="open") as network:
        ori, bo = network.client("ori"), network.client("bo")
        ori.send("PRIVMSG bo :for the old one")
        bo.send("QUIT")
        network.clock.advance(10)
        thief = network.client("bo")
        ori.send("PRIVMSG bo :for the new one")
        assert texts(thief, "HISTORY RECENT ori 5") == ["for the new one"]
        assert texts(ori, "HISTORY RECENT bo 5") == ["for the old one", "for the new one"]


def test_what_operators_say_to_each_other_stays_with_them(network: Network):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo", "#ops")
    ori.send("PRIVMSG @#ops :just us", "PRIVMSG #ops :all")
    assert texts(bo, "HISTORY RECENT #ops 5") == ["all"]
    assert texts(bo, "HISTORY RECENT @#ops 5") == [
        ":spark FAIL HISTORY INVALID_TARGET @#ops :You cannot read that"
    ]
    assert texts(ori, "HISTORY RECENT @#ops 5") == ["just us"]


def test_history_goes_with_a_channel_that_is_renamed(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.send("PRIVMSG #ops :before", "RENAME #ops #Operations", "PRIVMSG #operations :after")
    assert texts(ori, "HISTORY RECENT #operations 5") == ["before", "after"]
    ori.send("JOIN #ops", "PRIVMSG #ops :anew")
    assert texts(ori, "HISTORY RECENT #ops 5") == ["anew"]


def test_what_was_said_to_its_operators_goes_with_a_channel_that_is_renamed(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.send("PRIVMSG @#ops :before", "PRIVMSG +#ops :more", "RENAME #ops #Duty", "PRIVMSG @#duty :after")
    assert texts(ori, "HISTORY RECENT @#duty 5") == ["before", "after"]
    assert texts(ori, "HISTORY RECENT +#duty 5") == ["more"]
    ori.send("JOIN #ops", "PRIVMSG @#ops :anew")
    assert texts(ori, "HISTORY RECENT @#ops 5") == ["anew"]


def test_what_was_said_to_operators_stays_where_another_had_the_name_before(network: Network):
    ori = network.client("spark-ori", "#duty", "#ops")
    ori.send("PRIVMSG @#duty :theirs", "PART #duty", "PRIVMSG @#ops :ours", "RENAME #ops #duty")
    assert texts(ori, "HISTORY RECENT @#duty 5") == ["theirs"]
    ori.send("JOIN #ops")
    assert texts(ori, "HISTORY RECENT @#ops 5") == ["ours"]


def test_history_outlives_the_server(tmp_path: Path):
    with remembering(tmp_path) as network:
        network.client("spark-ori", "#ops").send("PRIVMSG #ops :one")
        network.flush()
    with remembering(tmp_path) as network:
        assert texts(network.client("spark-bo"), "HISTORY RECENT #ops 5") == ["one"]


def test_without_the_skill_there_is_no_such_command():
    ori = Network().client("spark-ori")
    ori.send("HISTORY RECENT #ops 5", "CAP REQ :draft/chathistory", "VERSION")
    lines = ori.lines()
    assert lines[:2] == [
        ":spark 421 spark-ori HISTORY :Unknown command",
        ":spark CAP spark-ori NAK :draft/chathistory",
    ]
    assert not any("CHATHISTORY" in line for line in lines[2:])


@pytest.mark.parametrize("command", ["HISTORY", "CHATHISTORY"])
def test_help_tells_of_it(network: Network, command: str):
    ori = network.client("spark-ori")
    ori.send(f"HELP {command.lower()}")
    start, *lines = ori.lines()
    assert start == f":spark 704 spark-ori {command} :The {command} command"
    assert all(line.startswith((":spark 705 ", ":spark 706 ")) for line in lines)
    assert any(f"{command} " in line.rpartition(" :")[2] for line in lines)
    assert all(len(line.encode()) <= 510 for line in lines)
    ori.send("HELP")
    assert f" {command} " in " ".join(line.rpartition(":")[2] for line in ori.lines())


@pytest.mark.parametrize("at", [1.0, 1_000_000.0, 1_000_030.0, 2_000_000.0])
@pytest.mark.parametrize("is_new_name", [True, False])
def test_a_rename_by_another_host_opens_nothing_that_was_said_before_it(
    tmp_path: Path, at: float, is_new_name: bool
):
    """Whatever time it claims to be of: that is what the other host says."""
    with remembering(tmp_path, UrlIndex(tmp_path)) as network:
        bo = network.client("spark-bo", "#board", "#other")
        bo.send("MODE #board +s", "MODE #other +s")
        if not is_new_name:
            bo.send("JOIN #lobby", "MODE #lobby +s", "PRIVMSG #lobby :secret http://example.org/lobby")
            bo.send("PART #lobby")
        network.clock.advance(20)
        bo.send("PRIVMSG #board :secret http://example.org/board", "PRIVMSG @#board :secret for us")
        mia = network.client("spark-mia", "#mine")
        mia.send("MODE #mine +s")
        network.clock.advance(20)
        for number, old in enumerate(("#board", "#mine"), 7):
            network.ircd.record.add_remote(
                EventRecord(
                    *(f"x{number}", at, "RENAME", old, "thor-x!x@thor", None, ""),
                    params=("#lobby",),
                    origin="thor",
                    seq=number,
                )
            )
        network.flush()
        # As if the other host had said that the channel is as old as it likes.
        mia.send("JOIN #lobby", "MODE #lobby +s")
        mia.session.user.channels[fold("#lobby")].created_at = 0.0
        mia.send("PRIVMSG #lobby :mine")
        mia.lines()
        mia.send("HISTORY RECENT #lobby 9", "HISTORY RECENT @#lobby 9", "HISTORY SEARCH * :secret")
        mia.send("HISTORY SEARCH #lobby :secret", "URLS", "URLS #lobby", "CHATHISTORY LATEST #lobby * 9")
        told = "\n".join(mia.lines())
        assert "secret" not in told
        assert "example.org" not in told
        assert "mine" in told


def test_members_of_a_channel_that_another_host_renamed_read_on(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.send("MODE #ops +s", "PRIVMSG #ops :before")
    network.ircd.record.add_remote(
        EventRecord(
            "x7",
            network.clock(),
            "RENAME",
            "#ops",
            "thor-x!x@thor",
            None,
            params=("#new",),
            origin="thor",
            seq=7,
        )
    )
    network.flush()
    ori.send("JOIN #new", "MODE #new +s", "PRIVMSG #new :after")
    assert texts(ori, "HISTORY RECENT #new 5") == ["before", "after"]
