"""REDACT: IRCv3 draft/message-redaction."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.history import Remembering, remembering
from support.network import Client, Network

from culture.ircd.skills import EventRecord, NotRecordedError, Skill, Skills
from culture.skills.history.skill import History
from culture.skills.logger import Logger
from culture.skills.urlindex import UrlIndex
from culture.store.history.archive import Archive
from culture.store.history.maintenance import export

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


@pytest.fixture
def logger(tmp_path: Path) -> Logger:
    return Logger(tmp_path / "logs", tmp_path)


@pytest.fixture
def everything(tmp_path: Path, logger: Logger) -> Iterator[Remembering]:
    """All skills that remember what is said."""
    with remembering(tmp_path, UrlIndex(tmp_path), logger) as network:
        yield network


def logged(network: Network, logger: Logger, channel: str = "#ops") -> list[str]:
    """What the log says of messages."""
    network.flush()
    logger.flush()
    (path,) = (logger.directory / channel).iterdir()
    return [line for line in path.read_text().splitlines() if not line.endswith(" joined")]


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


def test_it_is_in_no_index_no_export_and_no_log(everything: Remembering, logger: Logger, tmp_path: Path):
    ori = everything.client("spark-ori", "#ops", caps=CAPS)
    first = say(ori, "#ops", "see https://example.org/secret?key=abc")
    second = say(ori, "#ops", "https://example.org/secret?key=abc again")
    assert logged(everything, logger) == [
        "13:46:40 <spark-ori> see https://example.org/secret?key=abc",
        "13:46:40 <spark-ori> https://example.org/secret?key=abc again",
    ]
    ori.send(f"REDACT #ops {first} :oops")
    assert logged(everything, logger) == [
        "13:46:40 -- redacted by spark-ori (oops)",
        "13:46:40 <spark-ori> https://example.org/secret?key=abc again",
    ]
    ori.lines()
    ori.send("URLS #ops")
    assert [line.split(" ")[-2] for line in bare(ori)[:-1]] == ["1"]
    ori.send(f"REDACT #ops {second}", "URLS #ops")
    assert bare(ori)[-1] == ":spark URLSEND #ops :End of results"
    assert logged(everything, logger)[1] == "13:46:40 -- redacted by spark-ori"
    assert "example.org" not in "".join(export(tmp_path))
    assert texts(ori, "#ops") == []
    everything.history.archive.tidy()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"secret?key" in path.read_bytes()] == []


def test_a_log_says_it_once_of_several_lines_and_keeps_the_rest(everything: Remembering, logger: Logger):
    ori = everything.client("spark-ori", "#ops", caps=f"{CAPS} batch draft/multiline")
    everything.client("spark-bo", "#ops").send("PRIVMSG #ops :before")
    ori.send("BATCH +1 draft/multiline #ops")
    ori.send(*(f"@batch=1 PRIVMSG #ops :{text}" for text in ("one", "two", "one")), "BATCH -1")
    msgid = ori.lines()[-5].split("msgid=")[1].split(" ")[0]
    ori.send("PRIVMSG #ops :after")
    assert len(logged(everything, logger)) == 5
    ori.send(f"REDACT #ops {msgid}")
    assert logged(everything, logger) == [
        "13:46:40 <spark-bo> before",
        "13:46:40 -- redacted by spark-ori",
        "13:46:40 <spark-ori> after",
    ]


def test_it_is_found_by_the_new_name_of_its_channel(everything: Remembering, logger: Logger):
    ori = everything.client("spark-ori", "#ops", caps=f"{CAPS} draft/channel-rename")
    msgid = say(ori, "#ops", "see https://example.org/")
    ori.send("RENAME #ops #dev", f"REDACT #dev {msgid}")
    assert logged(everything, logger) == [
        "13:46:40 -- redacted by spark-ori",
        "13:46:40 -- spark-ori renamed the channel to #dev",
    ]
    ori.lines()
    ori.send("URLS")
    assert bare(ori) == [":spark URLSEND * :End of results"]


def test_who_may(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    bo = network.client("spark-bo", "#ops", caps=CAPS)
    of_ori, of_bo = say(ori, "#ops", "one"), say(bo, "#ops", "two")
    bo.send(f"REDACT #ops {of_ori}", "REDACT #ops none", f"REDACT #other {of_ori}", "REDACT #ops")
    bo.send("REDACT spark-nobody none", "REDACT spark-ori none")
    assert bo.lines() == [
        f":spark FAIL REDACT REDACT_FORBIDDEN #ops {of_ori} :You are not authorised to delete this message",
        ":spark FAIL REDACT UNKNOWN_MSGID #ops none :This message does not exist or is too old",
        ":spark FAIL REDACT INVALID_TARGET #other :You cannot delete messages from there",
        ":spark 461 spark-bo REDACT :Not enough parameters",
        ":spark FAIL REDACT INVALID_TARGET spark-nobody :You cannot delete messages from there",
        ":spark FAIL REDACT UNKNOWN_MSGID spark-ori none :This message does not exist or is too old",
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


def test_a_direct_message_is_not_told_of_to_who_took_the_nick_since(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    bo.session.user.account = "bo"
    msgid = say(ori, "spark-bo", "one")
    bo.send("NICK spark-bob")
    lea = network.client("spark-bo", caps=CAPS)
    ori.send(f"REDACT spark-bo {msgid} :for bo alone")
    assert bare(ori) == [f":spark-ori!ori@spark REDACT spark-bo {msgid} :for bo alone"]
    assert lea.lines() == []
    assert texts(ori, "spark-bob") == []


def test_who_logged_in_since_is_told_of_a_direct_message(network: Network):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    msgid = say(ori, "spark-bo", "one")
    bo.session.user.account = "bo"
    bo.lines()
    ori.send(f"REDACT spark-bo {msgid}")
    assert bare(bo) == [f":spark-ori!ori@spark REDACT spark-bo {msgid}"]


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


def at_once(network: Network, *said: tuple[Client, str]) -> None:
    """Several clients send a line each before any of them is answered."""
    for client, line in said:
        network.ircd.received(client.session, line.encode())
    network.answer()


def test_of_two_who_take_a_message_back_at_once_one_does(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    bo = network.client("spark-bo", "#ops", caps=CAPS)
    msgid = say(bo, "#ops", "one")
    ori.lines()
    at_once(network, (bo, f"REDACT #ops {msgid}"), (ori, f"REDACT #ops {msgid}"))
    line = f":spark-bo!bo@spark REDACT #ops {msgid}"
    assert bare(bo) == [line]
    refusal = f":spark FAIL REDACT UNKNOWN_MSGID #ops {msgid} :This message does not exist or is too old"
    assert bare(ori) == [line, refusal]


class Full(Skill):
    """A disk that is full for as long as it says so."""

    records = frozenset({"REDACT"})
    is_full = True

    def commit(self, happened: Sequence[EventRecord]) -> None:
        if happened and self.is_full:
            raise NotRecordedError("the disk is full")


def test_what_could_not_be_written_down_can_be_taken_back_again(tmp_path: Path):
    disk = Full()
    skills = Skills([disk, History(Archive(tmp_path), "spark")])
    network = Network(skills=skills)
    ori = network.client("spark-ori", "#ops", caps=f"{CAPS} draft/relaymsg")
    bo = network.client("spark-bo", "#ops", caps=CAPS)
    disk.is_full = False
    msgid = say(ori, "#ops", "one")
    bo.lines()
    disk.is_full = True
    ori.send(f"REDACT #ops {msgid}", "RELAYMSG #ops zoe/matrix :hello")
    why = "Not sent to #ops: the disk is full"
    assert ori.lines() == [f":spark NOTICE spark-ori :{why}"] * 2
    assert bo.lines() == []
    assert texts(ori, "#ops") == ["one"]
    disk.is_full = False
    ori.send(f"REDACT #ops {msgid}")
    assert bare(ori) == [f":spark-ori!ori@spark REDACT #ops {msgid}"]
    assert texts(ori, "#ops") == []
    skills.close()


def test_in_a_replay_it_does_not_count(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    ids = {}
    for text in "abcdef":
        network.clock.advance(1)
        ids[text] = say(ori, "#ops", text)
    for text in "cef":
        network.clock.advance(1)
        ori.send(f"REDACT #ops {ids[text]} :{text.upper()}")
    caps = "draft/message-redaction draft/event-playback draft/chathistory batch"
    bo = network.client("spark-bo", caps=caps)

    def replayed(command: str) -> str:
        bo.send(f"CHATHISTORY {command}")
        return "".join(line.rpartition(":")[2] for line in bo.lines()[1:-1])

    assert replayed("LATEST #ops * 2") == "bdCEF"
    assert replayed(f"BEFORE #ops msgid={ids['d']} 1") == "b"
    assert replayed(f"AFTER #ops msgid={ids['a']} 1") == "b"
    assert replayed(f"AFTER #ops msgid={ids['b']} 2") == "dCEF"
    assert replayed(f"AFTER #ops msgid={ids['b']} 1") == "d"
    ori.send("PRIVMSG #ops :g", "PRIVMSG #ops :h", "PRIVMSG #ops :i")
    middle = say(ori, "#ops", "j")
    assert replayed(f"BEFORE #ops msgid={middle} 4") == "dCEFghi"
    assert replayed(f"AROUND #ops msgid={ids['f']} 4") == "bdCEFgh"


def test_without_history_there_is_nothing_to_take_back():
    ori = Network().client("spark-ori", "#ops")
    ori.send("REDACT #ops m1")
    assert ori.lines() == [
        ":spark FAIL REDACT UNKNOWN_MSGID #ops m1 :This message does not exist or is too old"
    ]


def test_what_was_said_to_operators_is_taken_back_for_them(network: Network):
    ori = network.client("spark-ori", "#ops", caps=CAPS)
    lea, bo = (network.client(f"spark-{name}", "#ops", caps=CAPS) for name in ("lea", "bo"))
    ori.send("MODE #ops +o spark-lea")
    of_ori, of_lea = say(ori, "@#ops", "psst"), say(lea, "@#ops", "who?")
    for client in (ori, lea, bo):
        client.lines()
    ori.send(f"REDACT @#OPS {of_ori} :oops", f"REDACT @#ops {of_lea}")
    told = [
        f":spark-ori!ori@spark REDACT @#ops {of_ori} :oops",
        f":spark-ori!ori@spark REDACT @#ops {of_lea}",
    ]
    assert bare(ori) == bare(lea) == told
    assert texts(lea, "@#ops") == []
    bo.send(f"REDACT @#ops {of_ori}", f"REDACT @#none {of_ori}")
    assert [line.split(" ")[3] for line in bo.lines()] == ["UNKNOWN_MSGID", "INVALID_TARGET"]


def test_who_makes_a_channel_anew_takes_nothing_back_that_others_said_before(network: Network):
    bo = network.client("spark-bo", "#ops", caps=CAPS)
    msgid = say(bo, "#ops", "we ship on friday")
    network.clock.advance(60)
    bo.send("PART #ops")
    mia = network.client("spark-mia", "#ops", caps=CAPS)
    mia.send("MODE #ops", f"REDACT #ops {msgid}")
    assert " FAIL REDACT REDACT_FORBIDDEN #ops " in mia.lines()[-1]
    assert texts(mia, "#ops") == ["we ship on friday"]
