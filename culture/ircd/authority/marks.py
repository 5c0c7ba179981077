"""Mark messages with what the server can prove about their senders (`extensions/senders.md`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from culture.ircd.events import Said
from culture.ircd.model.channel import Channel
from culture.ircd.model.state import State
from culture.ircd.model.user import User
from culture.protocol.authority.senders import SENDER_TAG, SenderKind

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def mark(ircd: "Ircd", event: Said) -> Said:
    """Return a message of this host with the tag that says what its sender is.

    Messages of people have it only where an agent reads them; the fast path delivers the others.
    """
    kind = event.sender.kind
    if kind is SenderKind.AGENT or (kind is SenderKind.PERSON and is_read_by_agents(event.target)):
        return event._replace(tags={SENDER_TAG: kind.value, **event.tags})
    return event


def is_read_by_agents(target: Channel | User) -> bool:
    """Return whether a message to this target reaches an agent or a bot."""
    return target.has_agents if isinstance(target, Channel) else target.is_agent


def note_agent(state: State, sender: User, tags: Mapping[str, str]) -> None:
    """Note that a user of another host is an agent, as that host says. No host gains anything by that."""
    if tags.get(SENDER_TAG) == SenderKind.AGENT and sender.kind is not SenderKind.AGENT:
        state.set_kind(sender, SenderKind.AGENT)


def believed_tags(tags: Mapping[str, str], *, is_believed: bool) -> dict[str, str]:
    """Return the tags of another host's message without what that host is not believed about."""
    is_claim = tags.get(SENDER_TAG) == SenderKind.PERSON and not is_believed
    return {name: value for name, value in tags.items() if not (is_claim and name == SENDER_TAG)}
