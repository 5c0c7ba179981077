"""Long commands run in slices: everybody else has their turn in between."""

from collections.abc import Iterator

import pytest
from support.network import Client, Network

from culture.config.ircd import Limits
from culture.ircd.slices import SLICE_S


class Ticking(Network):
    """A server whose timer moves on by as much as a slice whenever it is looked at."""

    def __init__(self, **config: object) -> None:
        super().__init__(**config)
        self.now = 0.0
        self.slices = 0
        self.ircd.slices._timer = self._tick

    def _tick(self) -> float:
        self.now += SLICE_S
        return self.now

    def answer(self) -> None:
        """Nothing goes on by itself."""

    def run_all(self) -> Iterator[None]:
        """Let the commands that wait go on, one slice at a time."""
        while waiting := self.ircd.slices.take():
            for question in waiting:
                self.ircd.answered(question, None)
                yield


def busy(*channels: str, caps: str = "") -> tuple[Ticking, Client]:
    network = Ticking()
    for name in channels:
        network.client(f"spark-of{name[1:]}", name)
        for _ in network.run_all():
            pass
    return network, network.client("spark-ori", caps=caps)


def test_a_join_of_many_channels_lets_others_have_their_turn():
    network, ori = busy()
    ori.send("JOIN #a,#b,#c,#d")
    first = [line for line in ori.lines() if " JOIN " in line]
    assert 0 < len(first) < 4

    turns = sum(1 for _ in network.run_all())

    assert turns > 1
    assert len(first) + len([line for line in ori.lines() if " JOIN " in line]) == 4


def test_what_the_client_says_meanwhile_comes_after_the_command():
    network, ori = busy()
    ori.send("JOIN #a,#b,#c", "PING :last")

    for _ in network.run_all():
        pass

    lines = [line for line in ori.lines() if "JOIN" in line or "PONG" in line]
    assert [line.split()[1] for line in lines] == ["JOIN", "JOIN", "JOIN", "PONG"]


@pytest.mark.parametrize(
    ("command", "end"), [("LIST", " 323 "), ("WHO *", " 315 "), ("NAMES #a,#b,#c", " 366 "), ("JOIN 0", "")]
)
def test_answers_are_whole_however_often_they_are_interrupted(command: str, end: str):
    network, ori = busy("#a", "#b", "#c")
    whole = Network()
    for name in ("#a", "#b", "#c"):
        whole.client(f"spark-of{name[1:]}", name)
    other = whole.client("spark-ori")
    ori.send(command)
    for _ in network.run_all():
        pass
    other.send(command)

    lines = ori.lines()
    assert lines == other.lines()
    assert not end or end in lines[-1]


def test_a_label_is_on_all_that_answers_the_command():
    """IRCv3 labeled-response: all replies are in one batch."""
    network, ori = busy(caps="batch labeled-response")
    ori.send("@label=x JOIN #a,#b,#c")
    assert ori.lines() == []

    for _ in network.run_all():
        pass

    first, *batched, last = ori.lines()
    assert first.startswith("@label=x :spark BATCH +")
    assert last.startswith(":spark BATCH -")
    assert len([line for line in batched if " JOIN " in line]) == 3
    assert all(line.startswith("@batch=") for line in batched)


def test_who_leaves_in_between_takes_the_rest_along():
    network, ori = busy()
    ori.send("JOIN #a,#b,#c")
    ori.drop()

    for _ in network.run_all():
        pass

    assert not network.ircd.state.channels


def test_a_channel_that_was_left_in_between_is_not_listed():
    network, ori = busy("#a", "#b", "#c")
    ori.send("LIST")
    for user in list(network.ircd.state.users.values()):
        if user.nick == "spark-ofc" and user.session is not None:
            network.ircd.disconnected(user.session, "gone")
    for _ in network.run_all():
        pass

    assert not any(" #c " in line for line in ori.lines())


@pytest.mark.parametrize("command", ["JOIN", "PART", "NAMES", "LIST", "KICK"])
def test_a_line_with_too_many_targets_is_refused_whole(command: str):
    ori = Network(limits=Limits(channels_per_client=3)).client("spark-ori")
    parameters = "#a,#b,#c,#d" + (" spark-ori" if command == "KICK" else "")
    ori.send(f"{command} {parameters}")

    assert ori.lines() == [":spark 407 spark-ori #d :Too many targets: at most 3 in one line"]


def test_the_numbers_of_targets_are_told():
    """ISUPPORT TARGMAX."""
    ori = Network(limits=Limits(channels_per_client=30, targets=5)).client("spark-ori")
    ori.send("VERSION")

    (token,) = [word for line in ori.lines() for word in line.split() if word.startswith("TARGMAX=")]
    assert {"JOIN:30", "KICK:30", "LIST:30", "PRIVMSG:5", "MONITOR:"} <= set(
        token.removeprefix("TARGMAX=").split(",")
    )
