"""The urlindex skill: links, who shared them, and where."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network import Client, Network

from culture.config.skills import HistoryConfig
from culture.ircd.skills import Skills
from culture.skills.urlindex import UrlIndex, find_urls


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    skills = Skills([UrlIndex(tmp_path)])
    yield Network(skills=skills)
    skills.close()


def urls(client: Client, line: str) -> list[str]:
    client.lines()
    client.send(line)
    return [row.rpartition(" :")[2] for row in client.lines()[:-1]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://example.org/a.", ["https://example.org/a"]),
        (
            "(https://example.org/a_(b)), and HTTP://b.example",
            ["https://example.org/a_(b)", "HTTP://b.example"],
        ),
        ("<https://example.org/?a=1&b=2#c>", ["https://example.org/?a=1&b=2#c"]),
        ("https://a.example https://a.example", ["https://a.example"]),
        ("https:// http://. nothttps://x", []),
        ("no links, ftp://none", []),
        ("`https://example.org/`", ["https://example.org/"]),
        (f"https://example.org/{'x' * 500}", []),
    ],
)
def test_links_are_recognised(text: str, found: list[str]):
    assert find_urls(text) == found


def test_a_link_is_told_with_who_where_when_and_how_often(network: Network):
    ori, bo = network.client("spark-ori", "#Ops"), network.client("spark-bo", "#ops")
    ori.send("PRIVMSG #ops :see https://example.org/disk")
    network.clock.advance(60)
    bo.send("NOTICE #ops :again: https://example.org/disk")
    bo.lines()
    bo.send("URLS #OPS")
    assert bo.lines() == [
        ":spark URLS #Ops spark-ori 1970-01-12T13:46:40.000Z 1970-01-12T13:47:40.000Z 2 "
        ":https://example.org/disk",
        ":spark URLSEND #OPS :End of results",
    ]


def test_by_channel_and_term(network: Network):
    ori = network.client("spark-ori", "#ops", "#dev")
    for channel, path in (("#ops", "disk"), ("#ops", "net"), ("#dev", "disk")):
        network.clock.advance(1)
        ori.send(f"PRIVMSG {channel} :https://example.org/{channel[1:]}/{path}")
    assert urls(ori, "URLS #ops") == ["https://example.org/ops/net", "https://example.org/ops/disk"]
    assert urls(ori, "URLS #ops :DISK") == ["https://example.org/ops/disk"]
    assert urls(ori, "URLS :disk") == ["https://example.org/dev/disk", "https://example.org/ops/disk"]
    assert len(urls(ori, "URLS")) == len(urls(ori, "URLS *")) == 3
    assert urls(ori, "URLS #ops :%_") == []
    ori.send("URLS a b")
    assert ori.lines() == [":spark FAIL URLS INVALID_TARGET a :That is no channel"]


def test_what_may_not_be_read_is_not_told(network: Network):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :https://example.org/open", "MODE #ops +s")
    ori.send("PRIVMSG #ops :https://example.org/closed", "PRIVMSG spark-bo :https://example.org/direct")
    assert urls(bo, "URLS") == []
    assert len(urls(ori, "URLS")) == 2
    ori.send("MODE #ops -s")
    assert urls(bo, "URLS") == ["https://example.org/open"]
    for modes in ("b spark-bo", "R"):
        ori.send(f"MODE #ops +{modes}")
        assert urls(bo, "URLS") == urls(bo, "URLS #OPS") == []
        assert len(urls(ori, "URLS #ops")) == 2
        ori.send(f"MODE #ops -{modes}")
    assert urls(bo, "URLS #ops") == ["https://example.org/open"]


def test_where_history_is_for_members_so_are_links(tmp_path: Path):
    skills = Skills([UrlIndex(tmp_path)])
    network = Network(skills=skills, history=HistoryConfig(readable="members"))
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("PRIVMSG #ops :https://example.org/")
    assert urls(bo, "URLS") == urls(bo, "URLS #ops") == urls(bo, "URLS :example") == []
    assert urls(ori, "URLS") == urls(ori, "URLS #ops") == ["https://example.org/"]
    ori.send("PART #ops")
    assert urls(ori, "URLS") == urls(bo, "URLS #ops") == []
    bo.send("JOIN #ops")
    assert urls(bo, "URLS") == ["https://example.org/"]
    skills.close()
