"""What a daemon answers by itself: only what is nothing but a question for its status."""

import pytest

from culture.agent.reporting.status_query import asks_for_status
from culture.client.events import Said


@pytest.mark.parametrize(
    ("text", "channel", "asks"),
    [
        ("@spark-claude status", "#ops", True),
        ("@Spark-Claude: Status?", "#ops", True),
        ("spark-claude, status", "#ops", True),
        ("status", None, True),
        (" status ? ", None, True),
        ("spark-claude status", None, True),
        ("@spark-claude what is your status", "#ops", False),
        ("@spark-claude status of the disk", "#ops", False),
        ("@spark-claude @thor-bo status", "#ops", False),
        ("@thor-bo status", "#ops", False),
        ("status", "#ops", False),
        ("statusquo", None, False),
    ],
)
def test_what_asks_for_the_status(text, channel, asks):
    said = Said("spark-ori", channel, text, False, False, None, None, {})

    assert asks_for_status(said, "spark-claude") is asks
