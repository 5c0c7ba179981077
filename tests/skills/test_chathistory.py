"""CHATHISTORY: IRCv3 draft/chathistory."""

from pathlib import Path

import pytest
from support.history import remembering
from support.network import Client, Network

from culture.config.skills import HistoryConfig
from culture.store.history.ingest import MOST_NICKS

CAPS = "batch draft/chathistory server-time message-tags"


@pytest.fixture
def ori(network: Network) -> Client:
    """Said 0 to 9 in #ops, a second apart: at 13:46:41 the first."""
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    for number in range(10):
        network.clock.advance(1)
        ori.send(f"PRIVMSG #ops :{number}")
    ori.lines()
    return ori


def at(number: int) -> str:
    return f"timestamp=1970-01-12T13:46:{41 + number}.000Z"


def asked(client: Client, line: str) -> list[str]:
    """The texts in the batch that a command answers."""
    client.send(line)
    opening, *rows, closing = client.lines()
    assert " BATCH +" in opening, opening
    assert " BATCH -" in closing
    return [row.rpartition(" :")[2] for row in rows]


def msgid(client: Client, number: int) -> str:
    client.send("CHATHISTORY LATEST #ops * 100")
    rows = client.lines()[1:-1]
    tags = rows[number].split(" ")[0].split(";")
    return next(tag for tag in tags if tag.startswith("msgid="))


def test_it_is_offered_and_its_limits_are_told(network: Network):
    client = network.connect()
    client.send("CAP LS 302", "NICK spark-bo", "USER b 0 * :b", "CAP END")
    told = " ".join(client.lines())
    for part in (
        "draft/chathistory",
        "draft/event-playback",
        "CHATHISTORY=1000",
        "MSGREFTYPES=msgid,timestamp",
    ):
        assert part in told


def test_what_is_said_after_the_clock_was_put_back_comes_later(network: Network, ori: Client):
    last = msgid(ori, 9)
    network.clock.advance(-5)
    for number in (10, 11, 12):
        ori.send(f"PRIVMSG #ops :{number}")
        network.clock.advance(1)
    ori.lines()
    assert asked(ori, "CHATHISTORY LATEST #ops * 4") == ["9", "10", "11", "12"]
    assert asked(ori, f"CHATHISTORY AFTER #ops {last} 9") == ["10", "11", "12"]
    assert asked(ori, f"CHATHISTORY AFTER #ops {at(9)} 9") == ["10", "11", "12"]


def test_messages_come_in_a_batch_as_they_were(network: Network, ori: Client):
    ori.send("@+x=1 PRIVMSG #ops :last", "CHATHISTORY LATEST #OPS * 2")
    opening, first, second, closing = ori.lines()
    reference = opening.split(" ")[2].removeprefix("+")
    # As the client asked for it (IRCv3 batch/chathistory: the parameter is the target of the request).
    assert opening.endswith(f":spark BATCH +{reference} chathistory #OPS")
    assert closing.endswith(f":spark BATCH -{reference}")
    assert first.startswith(f"@batch={reference};time=1970-01-12T13:46:50.000Z;msgid=")
    assert first.endswith(" :spark-ori!ori@spark PRIVMSG #ops :9")
    assert ";+x=1 " in second


@pytest.mark.parametrize(
    ("command", "is_last"),
    [
        ("LATEST #ops * 11", True),
        ("LATEST #ops * 9", False),
        (f"BEFORE #ops {at(3)} 4", True),
        (f"BEFORE #ops {at(3)} 2", False),
        (f"BEFORE #ops {at(0)} 2", True),
        (f"AFTER #ops {at(7)} 3", True),
        (f"BETWEEN #ops {at(2)} {at(5)} 3", True),
        (f"AROUND #ops {at(5)} 50", False),
        (f"TARGETS {at(0)} {at(11)} 1", True),
    ],
)
def test_the_last_page_says_so(network: Network, ori: Client, command: str, is_last: bool):
    ori.send(f"CHATHISTORY {command}")
    assert ori.lines()[0].startswith("@draft/chathistory-end :spark BATCH +") is is_last
    plain = network.client("spark-bo", caps="batch")
    plain.send(f"CHATHISTORY {command}")
    assert "chathistory-end" not in " ".join(plain.lines())


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("LATEST #ops * 3", "789"),
        (f"LATEST #ops {at(6)} 10", "789"),
        (f"LATEST #ops {at(2)} 3", "789"),
        (f"BEFORE #ops {at(3)} 2", "12"),
        (f"AFTER #ops {at(3)} 2", "45"),
        (f"AROUND #ops {at(5)} 4", "3456"),
        (f"AROUND #ops {at(5)} 1", "5"),
        (f"AROUND #ops {at(0)} 4", "0123"),
        (f"BETWEEN #ops {at(2)} {at(6)} 10", "345"),
        (f"BETWEEN #ops {at(2)} {at(6)} 2", "34"),
        (f"BETWEEN #ops {at(6)} {at(2)} 2", "45"),
        (f"BETWEEN #ops {at(6)} {at(2)} 10", "345"),
    ],
)
def test_by_time(ori: Client, command: str, texts: str):
    assert "".join(asked(ori, f"CHATHISTORY {command}")) == texts


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("LATEST #ops {6} 10", "789"),
        ("BEFORE #ops {3} 2", "12"),
        ("AFTER #ops {3} 2", "45"),
        ("AROUND #ops {5} 4", "3456"),
        ("BETWEEN #ops {2} {6} 2", "34"),
        ("BETWEEN #ops {6} {2} 2", "45"),
    ],
)
def test_by_msgid(ori: Client, command: str, texts: str):
    ids = [msgid(ori, number) for number in range(10)]
    assert "".join(asked(ori, f"CHATHISTORY {command.format(*ids)}")) == texts


def test_messages_of_one_moment_have_an_order(network: Network, ori: Client):
    ori.send(*(f"PRIVMSG #ops :{letter}" for letter in "abcdef"))
    middle = msgid(ori, 12)
    assert asked(ori, f"CHATHISTORY BEFORE #ops {middle} 2") == ["a", "b"]
    assert asked(ori, f"CHATHISTORY AFTER #ops {middle} 2") == ["d", "e"]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("", "INVALID_PARAMS * :Insufficient parameters"),
        ("NONE #ops * 1", "INVALID_PARAMS NONE :Unknown command"),
        ("LATEST #ops *", "INVALID_PARAMS LATEST :Insufficient parameters"),
        ("LATEST #ops * 1 2", "INVALID_PARAMS LATEST :Too many parameters"),
        ("LATEST #ops * x", "INVALID_PARAMS LATEST x :Invalid limit"),
        ("LATEST #ops * 0", "INVALID_PARAMS LATEST 0 :Invalid limit"),
        ("LATEST #ops * \u0663", "INVALID_PARAMS LATEST \u0663 :Invalid limit"),
        ("BEFORE #ops * 1", "INVALID_PARAMS BEFORE * :Invalid reference"),
        ("AFTER #ops * 1", "INVALID_PARAMS AFTER * :Invalid reference"),
        ("AROUND #ops * 1", "INVALID_PARAMS AROUND * :Invalid reference"),
        (
            "BETWEEN #ops timestamp=1970-01-12T13:46:41.000Z * 1",
            "INVALID_PARAMS BETWEEN * :Invalid reference",
        ),
        ("LATEST #ops 1234 5", "INVALID_PARAMS LATEST 1234 :Invalid reference"),
        ("BEFORE #ops x=y 1", "INVALID_MSGREFTYPE BEFORE #ops :Unknown kind of reference"),
        (
            "BEFORE #ops timestamp=yesterday 1",
            "INVALID_PARAMS BEFORE timestamp=yesterday :Invalid timestamp",
        ),
        (
            "BEFORE #ops timestamp=1970-13-12T13:46:41.000Z 1",
            "INVALID_PARAMS BEFORE timestamp=1970-13-12T13:46:41.000Z :Invalid timestamp",
        ),
        (
            "BEFORE #ops timestamp=1970-01-12T13:46:41.00\u0663Z 1",
            "INVALID_PARAMS BEFORE timestamp=1970-01-12T13:46:41.00\u0663Z :Invalid timestamp",
        ),
        ("BEFORE #ops msgid=none 1", "MESSAGE_ERROR BEFORE #ops :There is no such message"),
        ("LATEST #none * 1", "INVALID_TARGET LATEST #none :Messages could not be retrieved"),
        ("TARGETS msgid=x msgid=y 5", "INVALID_PARAMS TARGETS msgid=x :Invalid timestamp"),
    ],
)
def test_what_cannot_be_answered(network: Network, command: str, answer: str):
    bo = network.client("spark-bo", "#ops")
    network.client("spark-ori", "#ops")
    bo.lines()
    bo.send("PRIVMSG #ops :hi", f"CHATHISTORY {command}")
    assert bo.lines() == [f":spark FAIL CHATHISTORY {answer}"]


def test_an_empty_batch_says_that_there_is_nothing(network: Network):
    ori = network.client("spark-ori", caps=CAPS)
    assert asked(ori, "CHATHISTORY LATEST spark-nobody * 10") == []
    ori.send("JOIN #new")
    ori.lines()
    assert asked(ori, "CHATHISTORY LATEST #new * 10") == []


def test_without_batch_the_lines_come_as_they_are(network: Network, ori: Client):
    bo = network.client("spark-bo", "#ops")
    bo.send("CHATHISTORY LATEST #ops * 1")
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #ops :9"]


def test_a_label_stands_on_the_batch(network: Network, ori: Client):
    bo = network.client("spark-bo", "#ops", caps=f"{CAPS} labeled-response")
    bo.send("@label=7 CHATHISTORY LATEST #ops * 1")
    opening, row, closing = bo.lines()
    assert opening.startswith("@label=7 ")
    assert "label" not in row + closing


def test_events_are_for_those_who_ask_for_them(network: Network):
    bo = network.client("spark-bo", "#ops")
    bo.send(
        "TOPIC #ops :new", "MODE #ops +m", "@+typing=active TAGMSG #ops", "PRIVMSG #ops :hi", "TOPIC #ops :"
    )
    bo.send(
        "PRIVMSG #ops :\x01VERSION\x01",
        "NOTICE #ops :\x01VERSION 1\x01",
        "PRIVMSG #ops :\x01ACTION waves\x01",
    )
    lea = network.client("spark-lea", "#ops")
    lea.send("NICK spark-leo", "PART #ops :later", "JOIN #ops", "QUIT :bye")
    bo.send("KICK #ops spark-bo :enough", "JOIN #ops")
    caps = "draft/event-playback batch draft/chathistory message-tags"
    ori = network.client("spark-ori", caps=caps)
    ori.send("CHATHISTORY LATEST #ops * 50")
    assert [line.partition(" :")[2] for line in ori.lines()[1:-1]] == [
        "spark-bo!bo@spark JOIN #ops",
        "spark-bo!bo@spark TOPIC #ops :new",
        "spark-bo!bo@spark MODE #ops +m",
        "spark-bo!bo@spark PRIVMSG #ops :hi",
        "spark-bo!bo@spark TOPIC #ops :",
        "spark-bo!bo@spark PRIVMSG #ops :\x01ACTION waves\x01",
        "spark-lea!lea@spark JOIN #ops",
        "spark-lea!lea@spark NICK :spark-leo",
        "spark-leo!lea@spark PART #ops :later",
        "spark-leo!lea@spark JOIN #ops",
        "spark-leo!lea@spark QUIT :Quit: bye",
        "spark-bo!bo@spark KICK #ops spark-bo :enough",
        "spark-bo!bo@spark JOIN #ops",
    ]
    plain = network.client("spark-pat")
    plain.send("CHATHISTORY LATEST #ops * 50")
    assert plain.lines() == [
        ":spark-bo!bo@spark PRIVMSG #ops :hi",
        ":spark-bo!bo@spark PRIVMSG #ops :\x01ACTION waves\x01",
    ]


@pytest.mark.parametrize("end", ["MODE #ops -k sesame", "PART #ops"])
def test_the_key_of_a_channel_is_told_to_its_members_alone(network: Network, end: str):
    caps = "draft/event-playback batch draft/chathistory"
    ori, bo = network.client("spark-ori", "#ops", caps=caps), network.client("spark-bo", caps=caps)
    ori.send("PRIVMSG #ops :hi", "MODE #ops +mk sesame", "CHATHISTORY LATEST #ops * 50")
    assert [line.rpartition(":")[2] for line in ori.lines()[-3:-1]] == [
        "hi",
        "spark-ori!ori@spark MODE #ops +mk sesame",
    ]
    ori.send(end)
    bo.send("CHATHISTORY LATEST #ops * 50")
    told = bo.lines()[1:-1]
    assert told[1].endswith(":hi")
    assert not any("sesame" in line for line in told)


def test_what_hosts_tell_each_other_of_a_change_is_not_for_clients(network: Network):
    ori = network.client("spark-ori", "#ops", caps=f"{CAPS} draft/event-playback")
    network.client("spark-bo", "#ops")
    ori.send("MODE #ops +v spark-bo", "MODE #ops -v+v spark-bo spark-bo", "KICK #ops spark-bo")
    ori.lines()
    ori.send("CHATHISTORY LATEST #ops * 3")
    tags = [row.split(" ")[0].split(";") for row in ori.lines()[1:-1]]
    assert [[tag.partition("=")[0] for tag in row] for row in tags] == [["@batch", "time", "msgid"]] * 3


def test_direct_messages_are_a_conversation(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    ori.send("PRIVMSG spark-bo :one")
    bo.send("PRIVMSG spark-ori :two")
    ori.lines()
    ori.send("CHATHISTORY LATEST SPARK-BO * 5")
    opening, one, two, _ = ori.lines()
    assert opening.endswith("chathistory SPARK-BO")
    assert one.endswith(" :spark-ori!ori@spark PRIVMSG spark-bo :one")
    assert two.endswith(" :spark-bo!bo@spark PRIVMSG spark-ori :two")


def test_a_conversation_with_an_account_goes_on_when_its_nick_changes(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo")
    bo.session.user.account = "bo"
    ori.send("PRIVMSG spark-bo :one")
    bo.send("NICK spark-bob")
    ori.send("CHATHISTORY LATEST SPARK-BOB * 5")
    opening, one, _ = ori.lines()
    assert opening.endswith("chathistory SPARK-BOB")
    assert one.endswith(" :spark-ori!ori@spark PRIVMSG spark-bo :one")
    network.client("spark-bo")
    assert asked(ori, "CHATHISTORY LATEST spark-bo * 5") == ["one"]


def test_a_conversation_is_found_by_all_nicks_that_its_end_had_in_it(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-[bo]")
    ori.session.user.account, bo.session.user.account = "ori", "bo"
    bo.send("PRIVMSG spark-ori :one", "NICK spark-bob", "PRIVMSG spark-ori :two")
    ori.lines()
    ori.send("CHATHISTORY LATEST SPARK-{BO} * 5")
    opening, *rows, _ = ori.lines()
    assert opening.endswith("chathistory SPARK-{BO}")
    assert [row.rpartition(":")[2] for row in rows] == ["one", "two"]
    assert asked(ori, "CHATHISTORY LATEST spark-bob * 5") == ["one", "two"]
    assert asked(ori, "CHATHISTORY LATEST spark-kim * 5") == []


def test_a_nick_that_somebody_else_took_leads_to_them(network: Network):
    ori, bo, lea = (
        network.client("spark-ori", caps=CAPS),
        network.client("spark-bo"),
        network.client("spark-x"),
    )
    bo.session.user.account = "bo"
    bo.send("PRIVMSG spark-ori :one", "NICK spark-bob", "PRIVMSG spark-ori :two")
    lea.send("NICK spark-bo", "PRIVMSG spark-ori :three")
    ori.lines()
    assert asked(ori, "CHATHISTORY LATEST spark-bo * 5") == ["three"]
    assert asked(ori, "CHATHISTORY LATEST spark-bob * 5") == ["one", "two"]


def test_only_the_last_nicks_are_remembered(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo")
    bo.session.user.account = "bo"
    for number in range(MOST_NICKS + 1):
        network.clock.advance(1)
        bo.send(f"NICK spark-bo{number}", f"PRIVMSG spark-ori :{number}")
    ori.lines()
    assert asked(ori, "CHATHISTORY LATEST spark-bo0 * 5") == []
    assert len(asked(ori, "CHATHISTORY LATEST spark-bo1 * 50")) == MOST_NICKS + 1


def test_targets_are_ones_channels_and_conversations(network: Network):
    ori = network.client("spark-ori", "#ops", "#quiet", caps="batch draft/chathistory")
    bo = network.client("spark-bo", "#other")
    ori.send("PRIVMSG #ops :one")
    bo.send("PRIVMSG #other :not for ori")
    network.clock.advance(5)
    bo.send("PRIVMSG spark-ori :two")
    ori.lines()
    ori.send("CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00.000Z timestamp=2030-01-01T00:00:00.000Z 10")
    opening, *lines, _ = ori.lines()
    assert opening.endswith(" draft/chathistory-targets")
    assert [line.partition(" ")[2] for line in lines] == [
        ":spark CHATHISTORY TARGETS #ops 1970-01-12T13:46:40.000Z",
        ":spark CHATHISTORY TARGETS spark-bo 1970-01-12T13:46:45.000Z",
    ]
    ori.send("CHATHISTORY TARGETS timestamp=2030-01-01T00:00:00.000Z timestamp=1970-01-01T00:00:00.000Z 1")
    assert ori.lines()[1].endswith("spark-bo 1970-01-12T13:46:45.000Z")
    ori.send("CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00.000Z timestamp=1970-01-12T13:46:40.000Z 1")
    assert len(ori.lines()) == 2


def test_a_target_is_told_once_by_its_last_message(network: Network):
    ori, bo = network.client("spark-ori", caps="batch draft/chathistory"), network.client("spark-bo")
    bo.send("PRIVMSG spark-ori :one")
    network.clock.advance(5)
    network.client("spark-lea").send("PRIVMSG spark-ori :two")
    network.clock.advance(5)
    bo.session.user.account = "bo"
    bo.send("PRIVMSG spark-ori :three")
    ori.lines()

    def targets(first: str, second: str, limit: int) -> list[str]:
        ori.send(f"CHATHISTORY TARGETS timestamp={first} timestamp={second} {limit}")
        return [line.rpartition("TARGETS ")[2] for line in ori.lines()[1:-1]]

    lea, of_bo = "spark-lea 1970-01-12T13:46:45.000Z", "spark-bo 1970-01-12T13:46:50.000Z"
    begin, end = "1970-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"
    assert targets(begin, end, 10) == [lea, of_bo]
    assert targets(begin, end, 1) == [lea]
    assert targets(end, begin, 1) == [of_bo]
    assert targets(begin, "1970-01-12T13:46:46.000Z", 10) == [lea]


def test_another_spelling_of_a_nick_is_the_same_nick(tmp_path: Path):
    with remembering(tmp_path, nick_policy="open") as network:
        ori, _ = network.client("ori"), network.client("bo")
        ori.send("PRIVMSG bo :one")
        network.clock.advance(5)
        ori.send("NICK Ori", "CHATHISTORY LATEST bo * 5")
        assert ori.lines()[-1] == ":ori!ori@spark PRIVMSG bo :one"


def test_history_can_be_for_members_alone(tmp_path: Path):
    """IRCv3 draft/chathistory, security considerations: `history.readable: members`."""
    with remembering(tmp_path, history=HistoryConfig(readable="members")) as network:
        ori, lea = (network.client(nick, "#ops", caps=CAPS) for nick in ("spark-ori", "spark-lea"))
        ori.send("PRIVMSG #ops :hello")
        lea.send("PART #ops")
        lea.lines()
        ori.lines()
        lea.send("CHATHISTORY LATEST #ops * 10", "HISTORY RECENT #ops", "CHATHISTORY LATEST #none * 10")
        lea.send("HISTORY SEARCH * :hello", "HISTORY SEARCH #ops :hello")
        assert [line.partition(" :spark ")[2] for line in lea.lines()] == [
            "FAIL CHATHISTORY INVALID_TARGET LATEST #ops :Messages could not be retrieved",
            "FAIL HISTORY INVALID_TARGET #ops :You cannot read that",
            "FAIL CHATHISTORY INVALID_TARGET LATEST #none :Messages could not be retrieved",
            "HISTORYEND * :End of results",
            "FAIL HISTORY INVALID_TARGET #ops :You cannot read that",
        ]
        assert asked(ori, "CHATHISTORY LATEST #ops * 10") == ["hello"]
        lea.send("JOIN #ops")
        lea.lines()
        assert asked(lea, "CHATHISTORY LATEST #ops * 10") == ["hello"]
        for client in (ori, lea):
            client.send("PART #ops")
            client.lines()
        lea.send("CHATHISTORY LATEST #ops * 10")
        assert " INVALID_TARGET LATEST #ops " in lea.lines()[0]


def test_history_of_a_public_channel_is_for_everyone_where_nothing_else_is_said(
    network: Network, ori: Client
):
    lea = network.client("spark-lea", caps=CAPS)
    assert asked(lea, "CHATHISTORY LATEST #ops * 1") == ["9"]
