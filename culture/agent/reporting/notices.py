"""What a daemon says by itself, without its agent: as notices, so that no agent answers them."""

from collections.abc import Collection
from typing import Final

from culture.agent.reporting.alerts import Alert, AlertKind
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import Notification, WebhookEvent, Webhooks
from culture.client.client import Client
from culture.client.session import Kind
from culture.errors import CultureError

_MOST_BYTES: Final = 300
# The event of webhooks that reports an alert, and the words in front of its text.
_WEBHOOK_EVENTS: Final = {
    AlertKind.CRASHED: (WebhookEvent.ERROR, "crashed: "),
    AlertKind.PAUSED: (WebhookEvent.ERROR, "is "),
    AlertKind.FAILED: (WebhookEvent.ERROR, ""),
    AlertKind.GIVEN_UP: (WebhookEvent.ERROR, ""),
    AlertKind.QUESTION: (WebhookEvent.QUESTION, ""),
    AlertKind.TIMEOUT: (WebhookEvent.TIMEOUT, ""),
    AlertKind.COMPLETE: (WebhookEvent.COMPLETE, ""),
    AlertKind.SPIRALING: (WebhookEvent.SPIRALING, ""),
    AlertKind.BUDGET: (WebhookEvent.BUDGET, ""),
    AlertKind.QUOTA: (WebhookEvent.QUOTA, ""),
}


class Notices:
    def __init__(self, nick: str, client: Client, story: JournalEvents, webhooks: Webhooks) -> None:
        self._nick = nick
        self._client = client
        self._story = story
        self._webhooks = webhooks

    def alert(self, alert: Alert) -> None:
        """Everything that is worth an alert passes here."""
        self._story.alerted(alert)
        text = f"{alert.senders}: {alert.text}" if alert.senders else alert.text
        for place in alert.places:
            self.say(place, text)
        if alert.kind in _WEBHOOK_EVENTS:
            event, words = _WEBHOOK_EVENTS[alert.kind]
            text = words + (alert.webhook_text or alert.text)
            self._notify(Notification(event, self._nick, text, ", ".join(alert.places)), alert.places)

    def alert_places(self) -> tuple[str, ...]:
        """Return the alerts channel, or all channels of the agent if there is none."""
        return (self._webhooks.channel,) if self._webhooks.channel else tuple(self._client.channels())

    def _notify(self, notification: Notification, told: Collection[str]) -> None:
        """Tell people who do not read the channels of the agent. `told` are places that know it already."""
        if not self._webhooks.reports(notification.event):
            return
        self._webhooks.notify(notification)
        if self._webhooks.channel and self._webhooks.channel not in told:
            self.say(self._webhooks.channel, notification.line)

    def say(self, place: str, text: str) -> None:
        try:
            self._client.say(place, text.encode()[:_MOST_BYTES].decode(errors="ignore"), Kind.NOTICE)
        except CultureError as error:
            self._story.not_told(place, error)
