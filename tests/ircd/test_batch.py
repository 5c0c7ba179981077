"""Runs of lines to one channel are handed out as one piece, and nobody can tell."""

from hypothesis import given
from hypothesis import strategies as st
from support.network import Network

NICKS = ("spark-a", "spark-b", "spark-c")
TYPED = ["PRIVMSG #x :{n}", "PRIVMSG #y :{n}", "PRIVMSG spark-b :{n}", "PING {n}", "TOPIC #x :{n}"]
actions = st.tuples(
    st.sampled_from(range(len(NICKS))),
    st.sampled_from(TYPED),
)


@given(st.lists(actions, max_size=40), st.sampled_from(["", "message-tags server-time", "echo-message"]))
def test_everyone_reads_everything_in_the_order_in_which_it_happened(said, caps):
    network = Network()
    clients = [network.client(nick, "#x", "#y", caps=caps) for nick in NICKS]
    for client in clients:
        client.lines()
    expected: list[list[int]] = [[], [], []]
    for number, (who, text) in enumerate(said):
        clients[who].send(text.format(n=number))
        for reader, seen in enumerate(expected):
            seen += [number] * _times_read(text, who, reader, "echo-message" in caps)
    for client, seen in zip(clients, expected, strict=True):
        assert [int(line.rpartition(":")[2]) for line in client.lines() if " 482 " not in line] == seen


def _times_read(text: str, who: int, reader: int, has_echo: bool) -> int:
    """How many lines a reader gets for this."""
    if text.startswith("PING"):
        return reader == who
    if text.startswith("TOPIC"):
        # Only the first in the channel is its operator.
        return who == 0
    if " spark-b " in text:
        return (reader == 1) + (reader == who and has_echo)
    return reader != who or has_echo


def test_who_leaves_has_heard_what_was_said_before():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("PRIVMSG #a :one", "PRIVMSG #a :two")
    bo.send("PART #a")
    ori.send("PRIVMSG #a :three")
    assert bo.lines() == [
        ":spark-ori!ori@spark PRIVMSG #a :one",
        ":spark-ori!ori@spark PRIVMSG #a :two",
        ":spark-bo!bo@spark PART #a",
    ]


def test_a_new_form_holds_from_where_it_was_asked_for():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("PRIVMSG #a :one")
    bo.send("CAP REQ server-time")
    ori.send("PRIVMSG #a :two")
    assert [line.startswith("@time=") for line in bo.lines()] == [False, False, True]
