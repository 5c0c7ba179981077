"""The grammar of nicks, hosts and channels."""

import pytest

from culture.names import (
    fold,
    has_prefix,
    host_from_machine,
    is_agent_nick,
    is_channel,
    is_host,
    is_nick,
    is_relayed_nick,
)


def test_folding_is_rfc1459():
    assert fold("Spark-[Ori]\\~") == fold("spark-{ori}|^") == "spark-{ori}|^"


@pytest.mark.parametrize("nick", ["ori", "spark-ori", "[x]", "a1", "_", "x^y"])
def test_nicks(nick: str):
    assert is_nick(nick)


@pytest.mark.parametrize("nick", ["", "1a", "-a", "a b", "a\n", "ä", "a,b", "a~b"])
def test_what_is_no_nick(nick: str):
    assert not is_nick(nick)


def test_an_agents_nick_is_also_a_unit_and_a_file_name():
    assert is_agent_nick("spark-claude_2")
    assert not any(map(is_agent_nick, ["spark-[x]", "../x", "spark-", "-x", "a--b", "a/b", "spark-claude\n"]))


def test_hosts_and_channels():
    assert is_host("spark")
    assert is_host("spark.example-net.org")
    assert not any(map(is_host, ["spark-1", "", "1a", "a..b", "a.-b", "a\n"]))
    assert is_channel("#a")
    assert not any(map(is_channel, ["a", "#a b", "#a,b", "#a\x07", "&a", "#a\n"]))
    blanks = "\u00a0\u2003\u3000\u2800\u3164\u200b\u202e\x85\u2028"
    assert not any(is_channel(f"#a{blank}b") for blank in blanks)
    assert all(map(is_channel, ["#b\u00fcro", "#\u65e5\u672c", "#\u0645\u06cc\u200c\u062e", "#a[b]<c>"]))


def test_a_prefix_needs_a_name_behind_it():
    assert has_prefix("SPARK-ori", "spark")
    assert not has_prefix("spark-", "spark")
    assert not has_prefix("sparkle-ori", "spark")


@pytest.mark.parametrize(
    ("machine", "host"),
    [("spark", "spark"), ("ip-10-0-0-7.internal", "ip10007"), ("DGX-Spark", "dgxspark"), ("42", "culture")],
)
def test_a_machines_name_makes_a_host_name(machine: str, host: str):
    assert host_from_machine(machine) == host
    assert is_host(host)


@pytest.mark.parametrize("nick", ["zoe/matrix", "Zoë/matrix", "a/b/c", "spark-ori/x"])
def test_a_relayed_nick_has_its_separator_between_two_names(nick: str):
    assert is_relayed_nick(nick)
    assert not is_nick(nick)


@pytest.mark.parametrize(
    "nick",
    [
        *("", "/", "zoe", "zoe/", "/matrix", "spark-ori", "spark-ori\u200b", "sp\u0430rk-ori", "z.oe"),
        *(
            "zo e/m",
            "zoe/m!x",
            "zoe@x/m",
            "zoe/\u202em",
            "zoe/m\x00",
            "#zoe/m",
            ":zoe/m",
            "zoe,x/m",
            "zoe/m*",
        ),
    ],
)
def test_what_is_no_relayed_nick(nick: str):
    assert not is_relayed_nick(nick)
