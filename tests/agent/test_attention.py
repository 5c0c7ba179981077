"""Who wakes an agent, and who does not: nothing that is not meant for it may cost a turn."""

import pytest

from culture.agent.attention import Concern, concern_of
from culture.client.events import Said


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
        (said("spark-claude: hello"), None),
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
    assert concern_of(line, "spark-claude") is concern
