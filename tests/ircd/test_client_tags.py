"""IRCv3 message-tags: client-only tags such as typing, reply and react, and CLIENTTAGDENY."""

import pytest
from support.network import Client, Network

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError


def pair(*denied: str) -> tuple[Client, Client]:
    network = Network(denied_client_tags=denied)
    ori = network.client("spark-ori", "#a", caps="message-tags")
    bo = network.client("spark-bo", "#a", caps="message-tags")
    ori.lines()
    return ori, bo


def tokens(client: Client) -> list[str]:
    client.send("VERSION")
    return [word for line in client.lines() for word in line.split() if word.startswith("CLIENTTAGDENY")]


def test_typing_replies_and_reactions_pass():
    ori, bo = pair()
    ori.send(
        "@+typing=active TAGMSG #a",
        "@+draft/reply=m1;+draft/react=:) TAGMSG spark-bo",
        "@+draft/reply=m1 PRIVMSG #a :yes",
    )
    assert bo.lines() == [
        "@msgid=m3;+typing=active :spark-ori!ori@spark TAGMSG #a",
        "@msgid=m4;+draft/reply=m1;+draft/react=:) :spark-ori!ori@spark TAGMSG spark-bo",
        "@msgid=m5;+draft/reply=m1 :spark-ori!ori@spark PRIVMSG #a :yes",
    ]
    assert tokens(ori) == []


def test_a_denied_tag_is_taken_off_and_a_tagmsg_of_nothing_else_goes_nowhere():
    ori, bo = pair("typing", "draft/react")
    assert tokens(ori) == ["CLIENTTAGDENY=typing,draft/react"]
    ori.send(
        "@+typing=active TAGMSG #a",
        "@+draft/react=x;+draft/reply=m1 TAGMSG #a",
        "@+typing=done PRIVMSG #a :hi",
        "TAGMSG #a",
    )
    assert bo.lines() == [
        "@msgid=m3;+draft/reply=m1 :spark-ori!ori@spark TAGMSG #a",
        "@msgid=m4 :spark-ori!ori@spark PRIVMSG #a :hi",
        "@msgid=m5 :spark-ori!ori@spark TAGMSG #a",
    ]
    assert ori.lines() == []


def test_all_can_be_denied_but_some():
    ori, bo = pair("*", "-typing")
    assert tokens(ori) == ["CLIENTTAGDENY=*,-typing"]
    ori.send("@+typing=active;+x=y TAGMSG #a", "@+x=y TAGMSG #a")
    assert bo.lines() == ["@msgid=m3;+typing=active :spark-ori!ori@spark TAGMSG #a"]


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        ('["+typing"]', "'+typing' is not the name of a tag without its '+'"),
        ('["a", "*"]', "'*' has to come first"),
        ('["-a"]', "'-a' makes an exception, and there is no '*' before it"),
    ],
)
def test_what_cannot_be_a_list_of_tags_is_reported(names: str, wrong: str):
    with pytest.raises(ConfigError) as error:
        loader.parse(f"denied_client_tags: {names}", IrcdConfig, where="x")
    assert wrong in str(error.value)
