"""The short way for plain messages does what the way of every command does."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from support.network import Client, Network

from culture.ircd.delivery.fast_path import deliver_plain_messages
from culture.ircd.delivery.queue import join_output
from culture.ircd.session import Session
from culture.ircd.skills import EventRecord, Skill, Skills

NICKS = ("spark-ori", "spark-bo", "spark-lea", "spark-claude")
CAPS = ("", "echo-message", "message-tags server-time", "message-tags account-tag echo-message batch")
BEFORE = (
    "MODE #ops +m",
    "MODE #ops +C",
    "MODE #ops +b spark-bo!*@*",
    "MODE #ops +v spark-lea",
    "MODE spark-claude +B",
    "MODE spark-lea +R",
    "AWAY :lunch",
    "AWAY",
    "PART #ops",
    "JOIN #ops",
    "PING x",
    "TOPIC #ops :disks",
)
TARGETS = (
    "#ops",
    "#OPS",
    "#other",
    "#none",
    "spark-bo",
    "Spark-Lea",
    "spark-claude",
    "nobody",
    "@#ops",
    "#ops,spark-bo",
    "",
)
TEXTS = st.one_of(
    st.sampled_from(
        (
            "hello",
            "a @spark-bo b",
            "to @nobody, or ori@example.org",
            "\x01VERSION\x01",
            "\x01ACTION waves\x01",
            ":)",
            " ",
            "",
            "x" * 460,
            "☃",
        )
    ),
    st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=("Cs",)), max_size=40),
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, len(NICKS) - 1),
        st.one_of(st.sampled_from(BEFORE), st.tuples(st.sampled_from(TARGETS), TEXTS, st.booleans())),
    ),
    max_size=12,
)


class Recorder(Skill):
    """Keeps what is to be recorded."""

    records = frozenset({"PRIVMSG"})

    def __init__(self) -> None:
        self.recorded: list[EventRecord] = []

    def commit(self, happened: Sequence[EventRecord]) -> None:
        self.recorded += happened


def play(command: str, caps: list[str], steps: list) -> tuple[list[list[str]], list[EventRecord]]:
    """What everybody reads, and what is recorded.

    Commands may be typed in lower case, which the short way does not know.
    """
    recorder = Recorder()
    network = Network(skills=Skills([recorder]))
    clients = [network.client(nick, "#ops", caps=each) for nick, each in zip(NICKS, caps, strict=True)]
    clients[1].send("JOIN #other")
    read: list[list[str]] = [[] for _ in clients]
    for number, step in steps:
        if isinstance(step, str):
            clients[number].send(step)
        else:
            target, text, is_last = step
            clients[number].send(f"{command} {target} :{text}")
            if not is_last:
                continue
        _read(clients, read)
    _read(clients, read)
    network.flush()
    return read, recorder.recorded


def _read(clients: list[Client], read: list[list[str]]) -> None:
    for client, lines in zip(clients, read, strict=True):
        lines += map(anonymous, client.lines())


@given(st.lists(st.sampled_from(CAPS), min_size=len(NICKS), max_size=len(NICKS)), STEPS)
def test_both_ways_lead_to_the_same(caps: list[str], steps: list):
    assert play("PRIVMSG", caps, steps) == play("privmsg", caps, steps)


MESSAGES = st.lists(st.tuples(st.sampled_from(TARGETS), TEXTS), min_size=1, max_size=4)
ARRIVALS = st.lists(st.tuples(st.sampled_from(NICKS), MESSAGES), max_size=8)


@given(st.lists(st.sampled_from(CAPS), min_size=len(NICKS), max_size=len(NICKS)), ARRIVALS)
def test_what_comes_together_is_said_as_if_it_came_one_by_one(caps: list[str], arrivals: list):
    together, apart = Network(), Network()
    for network in (together, apart):
        for nick, each in zip(NICKS, caps, strict=True):
            network.client(nick, "#ops", *(["#other"] if nick != "spark-lea" else []), caps=each)
    came = iter(
        [(number, _session(together, nick), _raw(said)) for number, (nick, said) in enumerate(arrivals)]
    )

    left = []
    while (rest := deliver_plain_messages(together.ircd, came)) is not None:
        left.append(rest)

    for number, (nick, said) in enumerate(arrivals):
        waiting = list(said)
        session, is_plain = _session(apart, nick), _raw(said).isascii()
        while (
            is_plain
            and waiting
            and deliver_plain_messages(apart.ircd, [(None, session, _raw(waiting[:1]))]) is None
        ):
            del waiting[0]
        assert not waiting or left.pop(0) == (number, _raw(waiting))
    assert not left
    assert _written(together) == _written(apart)


def test_a_sign_that_calls_nobody_takes_the_short_way_too():
    network = Network()
    network.client(NICKS[0], "#ops")
    session = _session(network, NICKS[0])
    plain = _raw([("#ops", "mail ori@example.org"), ("#ops", "@nobody there?")])
    calling = _raw([("#ops", f"@{NICKS[0]} there?")])
    assert deliver_plain_messages(network.ircd, [("it", session, plain)]) is None
    assert deliver_plain_messages(network.ircd, [("it", session, plain), ("that", session, calling)]) == (
        "that",
        calling,
    )


def _raw(messages: list[tuple[str, str]]) -> bytes:
    return "".join(f"PRIVMSG {target} :{text}\r\n" for target, text in messages).encode()


def _session(network: Network, nick: str) -> Session:
    user = network.ircd.state.find_user(nick)
    assert user is not None
    assert user.session is not None
    return user.session


def _written(network: Network) -> dict[str, str]:
    return {
        session.user.nick: join_output(output).decode() for session, output in network.ircd.drain().items()
    }


def anonymous(line: str) -> str:
    """Without the msgid: what nobody is told need not have one."""
    return re.sub(r"msgid=m[0-9a-f]+", "msgid=", line)
