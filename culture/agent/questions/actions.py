"""What questions need of the agent around them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from culture.agent.reporting.alerts import OnAlert
from culture.client.client import Sent
from culture.client.events import Said
from culture.store.agent.questions import StoredQuestion


@dataclass(frozen=True, slots=True)
class Actions:
    """The operations of an agent that its questions use."""

    own_nick: Callable[[], str]
    # Sends a PRIVMSG that does not count as an answer to a queued message.
    post: Callable[[str, str], Awaitable[Sent]]
    # Sends a NOTICE, which starts no turn.
    notify: Callable[[str, str], None]
    alert: OnAlert
    # Makes the turn loop look at the queue again.
    wake: Callable[[], None]
    # Stops the running turn for good, for a reason.
    stop_turn: Callable[[str], None]
    # Answers a prompt about a question beside the running turn, and counts the cost.
    ask_aside: Callable[[str, StoredQuestion], Awaitable[str]]
    # Starts a turn with a message that the agent did not get in another way.
    on_unread: Callable[[Said], None]
