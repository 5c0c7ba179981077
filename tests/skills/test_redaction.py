"""REDACT: IRCv3 draft/message-redaction."""

from pathlib import Path

from support.history import Remembering, remembering
from support.network import Client, Network

CAPS = "draft/message-redaction message-tags echo-message"


def say(client: Client, target: str, text: str) -> str:
    """The msgid of a message."""
    client.lines()
    client.send(f"PRIVMSG {target} :{text}")
    (echo,) = client.lines()
    return echo.split(" ")[0].removeprefix("@msgid=")


def texts(client: Client, target: str) -> list[str]:
    client.lines()
    client.send(f"HISTORY RECENT {target} 50")
    return [line.partition("Z :")[2] for line in client.lines()[:-1]]


def bare(client: Client) -> list[str]:
    return [line.partition(" ")[2] if line.startswith("@") else line for line in client.lines()]


def test_ones_own_message_is_taken_back_and_forgotten(network: Remembering, tmp_path: Path):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    bo = network.client("spark-bo", "#ops", caps="draft/message-redaction")
    lea = network.client("spark-lea", "#ops")
    msgid = say(ori, "#ops", "a password")
    say(ori, "#ops", "something else")
    texts(ori, "#ops")
    ori.send("HISTORY SEARCH #ops :password", "PING x")
    for client in (ori, bo, lea):
        client.lines()
    ori.send(f"REDACT #OPS {msgid} :oops")
    line = f":spark-ori!ori@spark REDACT #ops {msgid} :oops"
    assert bare(ori) == [line]
    assert bare(bo) == [line]
    assert lea.lines() == []
    assert texts(lea, "#ops") == ["something else"]
    ori.send("HISTORY SEARCH #ops :password")
    assert bare(ori) == [":spark HISTORYEND #ops :End of results"]
    network.history.archive.tidy()
    assert not any(b"a password" in path.read_bytes() for path in tmp_path.iterdir())


def test_who_may(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    bo = network.client("spark-bo", "#ops", caps=CAPS)
    of_ori, of_bo = say(ori, "#ops", "one"), say(bo, "#ops", "two")
    bo.send(f"REDACT #ops {of_ori}", "REDACT #ops none", f"REDACT #other {of_ori}", "REDACT #ops")
    assert bo.lines() == [
        f":spark FAIL REDACT REDACT_FORBIDDEN #ops {of_ori} :You are not authorised to delete this message",
        ":spark FAIL REDACT UNKNOWN_MSGID #ops none :This message does not exist or is too old",
        ":spark FAIL REDACT INVALID_TARGET #other :You cannot delete messages from there",
        ":spark 461 spark-bo REDACT :Not enough parameters",
    ]
    ori.lines()
    ori.send(f"REDACT #ops {of_bo}")
    assert bare(bo) == [f":spark-ori!ori@spark REDACT #ops {of_bo}"]
    assert texts(ori, "#ops") == ["one"]


def test_only_for_so_long(tmp_path: Path):
    with remembering(tmp_path) as network:
        network.client("spark-lea", "#ops")
        ori = network.client("spark-ori", "#ops", caps=CAPS)
        msgid = say(ori, "#ops", "one")
        network.clock.advance(86401)
        ori.send(f"REDACT #ops {msgid}")
        (failure,) = ori.lines()
        assert failure.startswith(f":spark FAIL REDACT REDACT_WINDOW_EXPIRED #ops {msgid} 86400 :")


def test_direct_messages_also_when_the_other_is_gone(network: Network):
    ori = network.client("spark-ori", caps=CAPS)
    bo, lea = network.client("spark-bo", caps=CAPS), network.client("spark-lea", caps=CAPS)
    first, second = say(ori, "spark-bo", "one"), say(ori, "spark-bo", "two")
    lea.send(f"REDACT spark-ori {first}", f"REDACT spark-bo {first}")
    assert [line.split(" ")[3] for line in lea.lines()] == ["UNKNOWN_MSGID", "UNKNOWN_MSGID"]
    bo.lines()
    ori.send(f"REDACT spark-bo {first}")
    assert bare(bo) == [f":spark-ori!ori@spark REDACT spark-bo {first}"]
    bo.send("QUIT")
    ori.lines()
    ori.send(f"REDACT spark-bo {second}")
    assert bare(ori) == [f":spark-ori!ori@spark REDACT spark-bo {second}"]
    assert texts(ori, "spark-bo") == []


def test_a_nick_that_somebody_else_had_takes_nothing_back(tmp_path: Path):
    with remembering(tmp_path, nick_policy="open") as network:
        network.client("lea", "#ops")
        ori = network.client("ori", "#ops", caps=CAPS)
        msgid = say(ori, "#ops", "one")
        ori.send("QUIT")
        network.clock.advance(1)
        thief = network.client("ori", "#ops", caps=CAPS)
        thief.send(f"REDACT #ops {msgid}")
        assert "REDACT_FORBIDDEN" in thief.lines()[0]


def test_a_replay_tells_it_to_those_who_understand(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    msgid = say(ori, "#ops", "one")
    ori.send(f"REDACT #ops {msgid}")
    caps = "draft/message-redaction draft/event-playback draft/chathistory batch"
    bo = network.client("spark-bo", caps=caps)
    bo.send("CHATHISTORY LATEST #ops * 10")
    replayed = [line.partition(" :")[2] for line in bo.lines()[1:-1]]
    assert replayed == ["spark-ori!ori@spark JOIN #ops", f"spark-ori!ori@spark REDACT #ops {msgid}"]


def test_without_history_there_is_nothing_to_take_back():
    ori = Network().client("spark-ori", "#ops")
    ori.send("REDACT #ops m1")
    assert ori.lines() == [
        ":spark FAIL REDACT UNKNOWN_MSGID #ops m1 :This message does not exist or is too old"
    ]
