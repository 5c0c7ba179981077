"""Say what is proven about the sender of a message: a person, an agent, or neither."""

from collections.abc import Iterable
from typing import Final

from culture.agent.inbox.attention import is_from_agent, is_person
from culture.client.events import Said
from culture.protocol.authority.senders import SENDER_TAG, SenderKind
from culture.store.agent.questions import Standing

_ACCOUNT: Final = "account"


def standing_of(said: Said, people: Iterable[str]) -> Standing:
    """Return what is proven about a sender. `people` is that key of agents.yaml.

    Nothing is proven about a nick with a slash, for which somebody else speaks (draft/relaymsg), and about a
    nick without an account: an agent could open any number of such connections and vote with each.
    """
    if "/" in said.sender:
        return Standing.ANYONE
    if is_person(said, people):
        return Standing.PERSON
    is_known_bot = is_from_agent(said) and bool(said.tags.get(_ACCOUNT))
    is_agent = said.tags.get(SENDER_TAG) == SenderKind.AGENT or is_known_bot
    return Standing.AGENT if is_agent else Standing.ANYONE


def voter_of(said: Said) -> str:
    """Return the identity that has one vote: the account, or the nick of somebody without one."""
    return said.tags.get(_ACCOUNT) or said.sender
