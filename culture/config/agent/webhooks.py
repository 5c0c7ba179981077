"""Model of `webhooks:` in agents.yaml: who is told over HTTP what happens to an agent."""

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from culture.config.rules import checked, credential_name, each
from culture.names import is_channel

EVENTS: Final = (
    "agent_spiraling",
    "agent_error",
    "agent_question",
    "agent_timeout",
    "agent_complete",
    "agent_budget",
    "agent_quota",
)
# Where alerts go on IRC if a URL is configured and no channel is.
DEFAULT_CHANNEL: Final = "#alerts"


def _check_url(url: str) -> str | None:
    if not url:
        return None
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    return None if is_complete else f"'{url}' is not an http:// or https:// address"


def _check_channel(name: str) -> str | None:
    return (
        None
        if not name or is_channel(name)
        else f"'{name}' is not a channel: write it as \"#name\", in quotes"
    )


def _check_event(name: str) -> str | None:
    return None if name in EVENTS else f"'{name}' is not an event: {', '.join(EVENTS)}"


@dataclass(frozen=True, slots=True)
class WebhooksConfig:
    """Where events are posted, and which."""

    # The address that every event below is posted to; empty: none.
    url: str = checked(_check_url, default="")
    # The name of the credential that holds the address, for services whose address is a secret.
    url_credential: str = checked(credential_name, default="")
    # The name of the credential that holds a bearer token for the address.
    token_credential: str = checked(credential_name, default="")
    # The form of the request body that the receiver expects.
    kind: Literal["generic", "discord", "slack", "ntfy"] = "generic"
    # A jinja2 template of the request body; it replaces the body of `kind`.
    template: str = ""
    # The channel in which the same texts are posted; empty: "#alerts" if an address is configured, else none.
    irc_channel: str = checked(_check_channel, default="")
    events: tuple[str, ...] = checked(each(_check_event), default=EVENTS)
    # Addresses for single events.
    on_question: str = checked(_check_url, default="")
    on_spiraling: str = checked(_check_url, default="")
    on_timeout: str = checked(_check_url, default="")
    on_error: str = checked(_check_url, default="")
    on_complete: str = checked(_check_url, default="")
    on_budget: str = checked(_check_url, default="")
    on_quota: str = checked(_check_url, default="")

    def __post_init__(self) -> None:
        if self.url and self.url_credential:
            raise ValueError("'url' and 'url_credential' exclude each other")

    @property
    def has_address(self) -> bool:
        """Return whether any event is posted over HTTP."""
        single = any(self._single_address(event) for event in EVENTS)
        return bool(self.url or self.url_credential or single)

    @property
    def alerts_channel(self) -> str:
        """Return the channel for alerts, or nothing if alerts are not posted on IRC."""
        return self.irc_channel or (DEFAULT_CHANNEL if self.has_address else "")

    def addresses_of(self, event: str, url: str) -> tuple[str, ...]:
        """Return where an event is posted. `url` is the address for all events."""
        addresses = (url if event in self.events else "", self._single_address(event))
        return tuple(dict.fromkeys(address for address in addresses if address))

    def _single_address(self, event: str) -> str:
        return str(getattr(self, event.replace("agent_", "on_")))
