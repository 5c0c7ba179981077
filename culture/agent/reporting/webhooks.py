"""Post what people should know about an agent to webhooks.

Delivery is best effort: one attempt with a short timeout, no redirects and no retry queue. A failure is
logged; the same text stands in the alerts channel on IRC anyway.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from culture.agent.reporting.journal_events import JournalEvents
from culture.config.agent.webhooks import WebhooksConfig
from culture.errors import ConfigError, Problem

TIMEOUT_S: Final = 5.0
# Requests under way at once. What comes on top is dropped and logged: a dead receiver costs no memory.
MAX_PENDING: Final = 20
# The longest text that a message of Discord may have.
_TEXT_LENGTH: Final = 1900


class WebhookEvent(StrEnum):
    """The events that webhooks report, by the names that agents.yaml uses."""

    QUESTION = "agent_question"
    SPIRALING = "agent_spiraling"
    TIMEOUT = "agent_timeout"
    ERROR = "agent_error"
    COMPLETE = "agent_complete"
    BUDGET = "agent_budget"
    QUOTA = "agent_quota"


@dataclass(frozen=True, slots=True)
class Notification:
    """One event of an agent, in words that fit on a line."""

    event: WebhookEvent
    nick: str
    text: str
    # The channel or nick that it concerns; empty if it concerns none.
    place: str = ""
    # The id of the turn; empty outside of one.
    turn: str = ""

    @property
    def line(self) -> str:
        """Return the notification as it is posted on IRC: `[ERROR] spark-claude crashed: …`."""
        return f"[{self.event.name}] {self.nick} {self.text}"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, ready to be sent."""

    url: str
    body: bytes
    headers: Mapping[str, str]


Render = Callable[[Notification], str]


class Webhooks:
    """Posts each notification to the addresses that are configured for its event."""

    def __init__(
        self,
        config: WebhooksConfig,
        journal: JournalEvents,
        *,
        url: str = "",
        token: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`url` and `token` are those of the configuration, with the credentials that it names read."""
        self._config = config
        self._journal = journal
        self._url = url or config.url
        self._token = token
        self._render = _template(config.template) if config.template else None
        self._timeout_s = timeout_s
        self._pending: set[asyncio.Task[None]] = set()

    @property
    def channel(self) -> str:
        """Return the channel on IRC where notifications are posted as well; empty if there is none."""
        return self._config.alerts_channel

    def reports(self, event: WebhookEvent) -> bool:
        """Return whether anybody is to be told of an event."""
        is_listed = event in self._config.events and bool(self._url or self.channel)
        return is_listed or bool(self._config.addresses_of(event, self._url))

    def notify(self, notification: Notification) -> None:
        """Start the delivery and return at once."""
        for url in self._config.addresses_of(notification.event, self._url):
            if len(self._pending) >= MAX_PENDING:
                self._journal.webhook_failed(
                    notification.event, f"{MAX_PENDING} requests are under way already"
                )
                continue
            task = asyncio.get_running_loop().create_task(self._deliver(notification, url))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

    async def close(self) -> None:
        """Wait until the requests that are under way are done."""
        await asyncio.gather(*self._pending, return_exceptions=True)

    async def _deliver(self, notification: Notification, url: str) -> None:
        request = make_request(self._config.kind, notification, url, self._token, self._render)
        try:
            async with asyncio.timeout(self._timeout_s):
                status = await _post(request)
        except TimeoutError:
            self._journal.webhook_failed(notification.event, f"no response within {self._timeout_s:g} s")
        except OSError as error:
            # The address may be a secret, so only the reason is logged.
            self._journal.webhook_failed(notification.event, error.strerror or type(error).__name__)
        else:
            if not 200 <= status < 300:
                self._journal.webhook_failed(notification.event, f"the receiver answered {status}")


def make_request(
    kind: str, notification: Notification, url: str, token: str = "", render: Render | None = None
) -> Request:
    """Return the request for a receiver of this kind."""
    headers = {"User-Agent": "culture", "Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    line = notification.line[:_TEXT_LENGTH]
    if render is not None:
        body = render(notification)
        if not body.lstrip().startswith(("{", "[")):
            headers["Content-Type"] = "text/plain; charset=utf-8"
    elif kind == "ntfy":
        headers["Content-Type"] = "text/plain; charset=utf-8"
        headers["Title"] = f"{notification.nick}: {notification.event.name.lower()}"
        headers["Priority"] = _NTFY_PRIORITIES[notification.event]
        body = notification.text[:_TEXT_LENGTH]
    elif kind == "discord":
        # Nobody is pinged by an @everyone in the text of an agent.
        body = json.dumps({"content": line, "allowed_mentions": {"parse": []}})
    elif kind == "slack":
        # Slack reads <…> as links and mentions.
        body = json.dumps({"text": line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")})
    else:
        body = json.dumps(_fields(notification))
    return Request(url, body.encode(), headers)


def _fields(notification: Notification) -> dict[str, str]:
    return {
        "event": notification.event.value,
        "nick": notification.nick,
        "text": notification.text,
        "message": notification.line,
        "place": notification.place,
        "turn": notification.turn,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


_NTFY_PRIORITIES: Final = {
    WebhookEvent.QUESTION: "high",
    WebhookEvent.SPIRALING: "high",
    WebhookEvent.TIMEOUT: "default",
    WebhookEvent.ERROR: "default",
    WebhookEvent.COMPLETE: "low",
    WebhookEvent.BUDGET: "high",
    WebhookEvent.QUOTA: "default",
}


def _template(source: str) -> Render:
    # Only agents whose webhooks have a template need jinja2.
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    try:
        template = SandboxedEnvironment(undefined=jinja2.StrictUndefined).from_string(source)
        template.render(**_fields(Notification(WebhookEvent.ERROR, "spark-claude", "crashed")))
    except jinja2.TemplateError as error:
        raise ConfigError([Problem("webhooks.template", f"is not a template: {error}")]) from None
    return lambda notification: template.render(**_fields(notification))


async def _post(request: Request) -> int:
    """Send a request and return the status of the response. Raise OSError if there is none.

    Redirects are not followed: a webhook that moved needs a person.
    """
    # Agents without webhooks do not load it.
    import aiohttp

    try:
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                request.url, data=request.body, headers=dict(request.headers), allow_redirects=False
            ) as response,
        ):
            return int(response.status)
    except aiohttp.ClientError as error:
        raise OSError(0, _reason(error)) from None


def _reason(error: Any) -> str:
    """Return what went wrong, without the address."""
    cause = getattr(error, "os_error", None)
    return str(getattr(cause, "strerror", "") or type(error).__name__)
