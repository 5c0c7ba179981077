"""What a daemon says by itself, without its agent: as notices, so that no agent answers them."""

from typing import Final

from culture.agent.alerts import Alert
from culture.agent.story import Story
from culture.client.client import Client
from culture.client.session import Kind
from culture.errors import CultureError

_MOST_BYTES: Final = 300


class Notices:
    def __init__(self, client: Client, story: Story) -> None:
        self._client = client
        self._story = story

    def alert(self, alert: Alert) -> None:
        """Everything that is worth an alert passes here."""
        self._story.alerted(alert)
        text = f"{alert.senders}: {alert.text}" if alert.senders else alert.text
        for place in alert.places:
            self.say(place, text)

    def say(self, place: str, text: str) -> None:
        try:
            self._client.say(place, text.encode()[:_MOST_BYTES].decode(errors="ignore"), Kind.NOTICE)
        except CultureError as error:
            self._story.not_told(place, error)
