"""CHATHISTORY: what comes back is what was read then, in the form that its reader knows."""

import pytest
from support.network import Network


def test_a_message_of_several_lines_comes_back_whole(network: Network):
    caps = "batch draft/multiline message-tags draft/chathistory"
    ori = network.client("spark-ori", "#ops", caps=caps)
    ori.send("BATCH +1 draft/multiline #ops")
    ori.send("@batch=1 PRIVMSG #ops :one", "@batch=1 PRIVMSG #ops :two", "BATCH -1")
    ori.send("CHATHISTORY LATEST #ops * 5")
    lines = ori.lines()
    inner = lines[1].split(" ")[3].removeprefix("+")
    outer = lines[0].partition(" BATCH +")[2].split(" ")[0]
    assert lines[1] == (
        f"@batch={outer};msgid={inner} :spark-ori!ori@spark BATCH +{inner} draft/multiline #ops"
    )
    assert lines[2:4] == [
        f"@batch={inner} :spark-ori!ori@spark PRIVMSG #ops :one",
        f"@batch={inner} :spark-ori!ori@spark PRIVMSG #ops :two",
    ]
    bo = network.client("spark-bo")
    bo.send("CHATHISTORY LATEST #ops * 5")
    assert [line.rpartition(":")[2] for line in bo.lines()] == ["one", "two"]


@pytest.mark.parametrize(
    "lines",
    [
        ["@batch=1 PRIVMSG #ops :only"],
        ["@batch=1 PRIVMSG #ops :a ", "@batch=1;draft/multiline-concat PRIVMSG #ops :b"],
        [
            "@batch=1 PRIVMSG #ops :one",
            "@batch=1 PRIVMSG #ops :",
            "@batch=1 PRIVMSG #ops :two ",
            "@batch=1;draft/multiline-concat PRIVMSG #ops :three",
        ],
    ],
)
def test_a_message_comes_back_in_the_lines_in_which_it_was_sent(network: Network, lines: list[str]):
    # IRCv3 draft/multiline, fallback: servers should maintain the composition that the client sent.
    caps = "batch draft/multiline message-tags draft/chathistory echo-message"
    ori = network.client("spark-ori", "#ops", caps=caps)
    bo = network.client("spark-bo", "#ops")
    for client in (ori, bo):
        client.lines()
    ori.send("BATCH +1 draft/multiline #ops", *lines, "BATCH -1")
    live, plain = ori.lines(), bo.lines()
    ori.send("CHATHISTORY LATEST #ops * 1")
    opening, *replayed, closing = ori.lines()[1:-1]
    outer = opening.split(";")[0]
    assert [opening.replace(f"{outer};", "@"), *replayed, closing.removeprefix(f"{outer} ")] == live
    bo.send("CHATHISTORY LATEST #ops * 1")
    assert bo.lines() == plain


def test_a_join_is_replayed_as_its_reader_knows_joins(network: Network):
    network.client("spark-bo", "#ops")
    caps = "draft/event-playback batch draft/chathistory extended-join"
    ori = network.client("spark-ori", caps=caps)
    ori.send("CHATHISTORY LATEST #ops * 50")
    assert ori.lines()[1].partition(" :")[2] == "spark-bo!bo@spark JOIN #ops * :spark-bo"
