"""Whoever reads every MODE line knows the modes of a channel: what is told is what happened."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.network import Network

letters = st.text("+-bbeIkloohvCMRimnstX", min_size=1, max_size=14)
names = st.sampled_from(["spark-ori", "spark-BO", "spark-no", "5", "007", "0", "key", "a,b", ":x"])
masks = st.sampled_from(
    ["eve", "[Eve]", "{eve}", "*@h", "~a:x", "~m:eve", "~q:x", "1.2.3.4", "x" * 90, "é" * 60]
)
params = st.lists(names | masks, max_size=8)


class Follower:
    """What a client knows of a channel by CHANMODES and PREFIX alone."""

    def __init__(self) -> None:
        self.flags = set("nt")
        self.values: dict[str, str] = {}
        self.held = {("o", "spark-ori")}

    def read(self, line: str) -> None:
        changes, *words = line.split(" ")[3:]
        adding = True
        for letter in changes:
            if letter in "+-":
                adding = letter == "+"
            elif letter in "CMRimnst":
                assert (letter in self.flags) is not adding
                self.flags ^= {letter}
            elif letter in "kl":
                if adding:
                    self.values[letter] = words.pop(0)
                else:
                    held = self.values.pop(letter)
                    assert letter == "l" or words.pop(0) == held
            else:
                entry = (letter, words.pop(0))
                assert (entry in self.held) is not adding
                self.held ^= {entry}
        assert not words


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), letters, params), max_size=12))
def test_a_reader_of_all_changes_knows_the_modes(commands: list[tuple[bool, str, list[str]]]):
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    follower = Follower()
    for by_ori, changes, words in commands:
        (ori if by_ori else bo).send(f"MODE #a {' '.join([changes, *words])}")
    for line in bo.lines():
        if " MODE #a " in line:
            assert len(line.encode()) <= 510
            follower.read(line)
    bo.send("MODE #a", "MODE #a beI", "NAMES #a")
    shown, _, *rest = bo.lines()
    modes, *values = shown.split(" ")[4:]
    assert set(modes[1:]) == follower.flags | set(follower.values)
    assert values == [follower.values[letter] for letter in modes if letter in "kl"]
    codes = {"367": "b", "348": "e", "346": "I"}
    listed = {(codes[words[1]], words[4]) for words in map(str.split, rest) if words[1] in codes}
    assert listed == {entry for entry in follower.held if entry[0] in "beI"}
    channel = network.ircd.state.find_channel("#a")
    assert channel is not None
    standing = {(status, user.nick) for user, held in channel.members.items() for status in held}
    assert standing == {entry for entry in follower.held if entry[0] in "ohv"}
