"""Mark messages with what the server can prove about their senders (`extensions/senders.md`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from culture.ircd.authority.belief import is_believed
from culture.ircd.events import Said
from culture.ircd.model.channel import Channel
from culture.ircd.model.state import State
from culture.ircd.model.user import User
from culture.names import fold
from culture.protocol.authority.hops import HopCounter
from culture.protocol.authority.senders import HOPS_TAG, SENDER_TAG, SenderKind
from culture.protocol.mentions import TAG as MENTIONS_TAG

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def mark(ircd: "Ircd", event: Said) -> Said:
    """Return a message of this host with the tag that says what its sender is.

    Messages of people have it only where an agent reads them; the fast path delivers the others.
    """
    kind = event.sender.kind
    if kind is SenderKind.AGENT or (kind is SenderKind.PERSON and is_read_by_agents(event.target)):
        event = event._replace(tags={SENDER_TAG: kind.value, **event.tags})
    return count_hops(ircd.hops, event, is_person=kind is SenderKind.PERSON)


def count_hops(counter: HopCounter, event: Said, *, is_person: bool) -> Said:
    """Count a message between agents, and return it with the count; a person's message ends the count."""
    if event.command != "PRIVMSG":
        return event
    sender, target = event.sender, event.target
    if is_person:
        if isinstance(target, Channel):
            counter.person_spoke_in(target.key)
        for agent in event.mentioned if isinstance(target, Channel) else (target,):
            counter.person_addressed(agent.key)
    elif sender.is_agent:
        if isinstance(target, Channel):
            hops = counter.agent_spoke_in(target.key, sender.key)
        else:
            hops = counter.agent_spoke_to(target.key, sender.key)
        if hops:
            return event._replace(tags={HOPS_TAG: str(hops), **event.tags})
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


def mark_remote(ircd: "Ircd", event: Said, origin: str, scope: str) -> Said:
    """Return a message of another host with the tags that are believed, and with our own count of hops."""
    is_trusted = scope == "*" and is_believed(ircd.config, origin)
    note_agent(ircd.state, event.sender, event.tags)
    tags = believed_tags(event.tags, is_believed=is_trusted)
    tags.pop(HOPS_TAG, None)
    is_person = tags.get(SENDER_TAG) == SenderKind.PERSON and not event.sender.is_agent
    if is_person and MENTIONS_TAG in tags:
        for nick in tags[MENTIONS_TAG].split(","):
            ircd.hops.person_addressed(fold(nick))
    return count_hops(ircd.hops, event._replace(tags=tags), is_person=is_person)
