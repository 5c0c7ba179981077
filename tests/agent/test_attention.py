"""Who wakes an agent, and who does not: nothing that is not meant for it may cost a turn."""

import pytest

from culture.agent.inbox.attention import (
    Attention,
    Concern,
    attention_of,
    concern_of,
    is_from_agent,
    is_person,
)
from culture.client.events import Said
from culture.config.agents import AgentConfig


def said(text: str, *, channel: str | None = "#ops", sender: str = "spark-ori", **details) -> Said:
    values = {"is_notice": False, "is_from_server": False, "mentions": None, "time": None, "tags": {}}
    return Said(sender=sender, channel=channel, text=text, **{**values, **details})


@pytest.mark.parametrize(
    ("line", "concern"),
    [
        (said("look at the disk"), None),
        (said("@spark-claude look at the disk"), Concern.MENTION),
        (said("could you, @SPARK-Claude?"), Concern.MENTION),
        (said("@spark-claude2 look"), None),
        (said("mail me@spark-claude"), None),
        (said("write `@spark-claude` to call it"), None),
        # As weechat and irssi complete a nick at the beginning of a line.
        (said("spark-claude: hello"), Concern.MENTION),
        (said("Spark-Claude, hello"), Concern.MENTION),
        (said("thor-bo, spark-claude: hello"), None),
        (said("spark-claude hello"), None),
        (said("I asked spark-claude: it is down"), None),
        (said("spark-claude:6667"), None),
        (said("\x01ACTION spark-claude: waves\x01"), None),
        # Where the server flags mentions, it decides.
        (said("hello", mentions=("spark-claude",)), Concern.MENTION),
        (said("hello", mentions=("thor-bo", "Spark-Claude")), Concern.MENTION),
        (said("@spark-claude", mentions=("thor-bo",)), None),
        # Direct messages need no name.
        (said("hello", channel=None), Concern.DIRECT),
        (said("@thor-bo is away", channel=None), Concern.DIRECT),
        # What it said itself, as some servers send it back.
        (said("@spark-claude", sender="spark-claude"), None),
        (said("hello", sender="Spark-Claude", channel=None), None),
        # Programs do not answer notices (RFC 2812 section 3.3.2), least of all those of a server.
        (said("@spark-claude", is_notice=True), None),
        (said("hello", channel=None, is_notice=True), None),
        (said("you were called", channel=None, is_notice=True, is_from_server=True), None),
        (said("@spark-claude", sender="irc.spark", is_from_server=True), None),
        # CTCP is talk between clients, but for /me.
        (said("\x01VERSION\x01", channel=None), None),
        (said("\x01PING 12345\x01", channel=None), None),
        (said("\x01ACTION waves at @spark-claude\x01"), Concern.MENTION),
    ],
)
def test_what_concerns_an_agent(line, concern):
    assert concern_of(line, "spark-claude", Attention()) is concern


BY_AN_AGENT = {"bot": ""}


@pytest.mark.parametrize(
    ("line", "concern"),
    [
        (said("@all who is free?"), Concern.GROUP),
        (said("@ALL!", mentions=("thor-bo",)), Concern.GROUP),
        (said("at all"), None),
        (said("`@all` calls everyone"), None),
        (said("@gpu anyone?"), Concern.GROUP),
        (said("@cpu anyone?"), None),
        (said("ask @deployer"), Concern.NAME),
        (said("@deployer @all"), Concern.NAME),
        # These names are ordinary words, too.
        (said("deployer, please"), None),
        (said("all: please note"), None),
        # Agents do not call crowds of agents.
        (said("@all stand-up", tags=BY_AN_AGENT), None),
        (said("@gpu stand-up", tags=BY_AN_AGENT), None),
        (said("@deployer please", tags=BY_AN_AGENT), Concern.NAME),
        (said("@spark-claude please", tags=BY_AN_AGENT), Concern.MENTION),
        (said("hello", channel=None, tags=BY_AN_AGENT), Concern.DIRECT),
        # A reply names the message that it answers.
        (said("why?", tags={"+draft/reply": "m1"}), Concern.REPLY),
        (said("why?", tags={"+reply": "m1"}), Concern.REPLY),
        (said("why?", tags={"+draft/reply": "m2"}), None),
        (said("why?", tags={"+draft/reply": "m1"}, is_notice=True), None),
    ],
)
def test_names_groups_and_replies(line, concern):
    attention = attention_of(AgentConfig("spark-claude", tags=("gpu",), wake_on=("deployer",)))

    assert concern_of(line, "spark-claude", attention, own_messages={"m1"}) is concern


def test_an_agent_that_is_an_operator_of_the_channel_may_call_everyone():
    line = said("@all stand-up", tags=BY_AN_AGENT)

    def is_operator(channel: str, nick: str) -> bool:
        return (channel, nick) == ("#ops", "spark-ori")

    assert concern_of(line, "spark-claude", Attention(), (), is_operator) is Concern.GROUP


def test_agents_may_call_everyone_where_that_is_configured():
    attention = attention_of(AgentConfig("spark-claude", groups_from="everyone"))

    assert concern_of(said("@all?", tags=BY_AN_AGENT), "spark-claude", attention) is Concern.GROUP


@pytest.mark.parametrize(
    ("allow_from", "line", "is_allowed"),
    [
        (("*",), said("hi", channel=None), True),
        (("*",), said("hi", channel=None, tags=BY_AN_AGENT), True),
        # Whoever is relayed from another network is not of this mesh.
        (("*",), said("hi", channel=None, sender="bo/discord"), False),
        (("*", "*/discord"), said("hi", channel=None, sender="bo/discord"), True),
        (("spark-*",), said("hi", channel=None), True),
        (("SPARK-O?I",), said("hi", channel=None), True),
        (("thor-*",), said("hi", channel=None), False),
        (("account:ori",), said("hi", channel=None), False),
        (("account:ori",), said("hi", channel=None, tags={"account": "ori"}), True),
        (("account:ori",), said("hi", channel=None, sender="ori", tags={"account": "bo"}), False),
        (("account:*",), said("hi", channel=None, tags={"account": "bo"}), True),
        (("account:*",), said("hi", channel=None), False),
        # An account of another host names it, and is somebody else.
        (("account:ori",), said("hi", channel=None, tags={"account": "ori@thor"}), False),
        (("account:*",), said("hi", channel=None, tags={"account": "ori@thor"}), False),
        (("account:or?",), said("hi", channel=None, tags={"account": "ori@thor"}), False),
        (("account:ori@thor",), said("hi", channel=None, tags={"account": "ori@thor"}), True),
        (("account:ori@thor",), said("hi", channel=None, tags={"account": "ori@orin"}), False),
        (("account:ori@thor",), said("hi", channel=None, tags={"account": "ori"}), False),
        (("account:ori@*",), said("hi", channel=None, tags={"account": "ori@orin"}), True),
        (("account:ori@*",), said("hi", channel=None, tags={"account": "ori"}), True),
        ((), said("hi", channel=None), False),
        (("thor-*",), said("@spark-claude hi"), False),
        (("thor-*",), said("@all hi"), False),
    ],
)
def test_who_may_start_a_turn(allow_from, line, is_allowed):
    concern = concern_of(
        line, "spark-claude", attention_of(AgentConfig("spark-claude", allow_from=allow_from))
    )

    assert (concern is not None) == is_allowed


PERSON, AGENT = {"agentirc.dev/sender": "person"}, {"agentirc.dev/sender": "agent"}


@pytest.mark.parametrize(
    ("tags", "people", "is_one"),
    [
        (PERSON, (), True),
        # Nothing is proved by a nick, by an account that nobody named, or by what is missing.
        ({}, ("account:*",), False),
        ({"account": "ori"}, (), False),
        ({"account": "ori"}, ("account:ori",), True),
        ({"account": "ori"}, ("account:o*",), True),
        # Accounts of other hosts need to be named with their host.
        ({"account": "ori@thor"}, ("account:ori", "account:*"), False),
        ({"account": "ori@thor"}, ("account:ori@thor",), True),
        # Only servers can set the tag; clients can send this one.
        ({"+agentirc.dev/sender": "person"}, (), False),
        ({"agentirc.dev/sender": "person@thor"}, (), False),
        ({"agentirc.dev/sender": ""}, (), False),
        # An agent is never a person, whatever else is true of it.
        (AGENT, (), False),
        ({**AGENT, "account": "spark-claude"}, ("account:*",), False),
        ({"bot": "", "account": "ori"}, ("account:ori",), False),
        ({**PERSON, "bot": ""}, (), False),
    ],
)
def test_a_person_is_who_was_proved_to_be_one(tags, people, is_one):
    assert is_person(said("yes", tags=tags), people) is is_one


@pytest.mark.parametrize(
    ("tags", "is_one"), [({"bot": ""}, True), (AGENT, True), (PERSON, False), ({}, False)]
)
def test_an_agent_is_known_by_its_server_or_says_so(tags, is_one):
    assert is_from_agent(said("yes", tags=tags)) is is_one
