"""Every limit can be switched off by 0."""

import pytest
from support.network import Network

from culture.config import loader
from culture.config.ircd import IrcdConfig, Limits
from culture.errors import ConfigError

LENGTHS = {field for field in Limits.__slots__ if field.endswith("_length")}
OFF = dict.fromkeys(set(Limits.__slots__) - LENGTHS, 0)


def test_zero_is_accepted_everywhere_but_for_lengths():
    text = "limits:\n" + "".join(f"  {name}: 0\n" for name in OFF)
    assert loader.parse(text, IrcdConfig, where="x").limits == Limits(**OFF)
    for name in LENGTHS:
        with pytest.raises(ConfigError):
            loader.parse(f"limits: {{{name}: 0}}", IrcdConfig, where="x")


def test_without_limits_nothing_is_refused_and_nobody_is_let_go():
    network = Network(limits=Limits(**OFF))
    ori, silent = network.client("spark-ori"), network.connect()
    for number in range(150):
        ori.send(f"JOIN #c{number}")
    assert len(ori.session.user.channels) == 150
    ori.lines()
    ori.send("PRIVMSG " + ",".join(["spark-ori"] * 1 + [f"#c{number}" for number in range(50)]) + " :hello")
    assert " 407 " not in " ".join(ori.lines())
    network.clock.advance(1_000_000)
    network.ircd.tick()
    assert ori.lines() == []
    assert not silent.is_closed
    network.ircd.held_back(ori.session, 10**9)
    assert not ori.is_closed


def test_isupport_says_that_there_is_no_limit():
    client = Network(limits=Limits(**OFF)).connect()
    client.send("NICK spark-ori", "USER o 0 * :o")
    words = " ".join(client.lines()).split()
    assert "CHANLIMIT=#:" in words
    (targets,) = (word for word in words if word.startswith("TARGMAX="))
    assert "PRIVMSG:," in targets
