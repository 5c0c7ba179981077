"""Find the queued messages that a running turn answered after the agent read them by itself.

A queued message counts as answered by a turn that it did not start if all of this happened in that turn:

1. The agent read the whole message by `irc read`.
2. After that it sent a message to the same conversation. In a channel that message mentions the sender.
3. The turn ended without an error.

Otherwise the message starts a turn of its own, also if the process is killed before the turn has ended. So a
message may be answered twice, and is never lost.
"""

from culture.names import fold
from culture.protocol.mentions import is_mentioned
from culture.store.agent.queue import Queue


class ReadMessages:
    """The messages that the agent read, and those of them that it answered, in the running turn."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._read: set[str] = set()
        self._answered: set[str] = set()

    def turn_began(self) -> None:
        """Forget what was read outside of this turn."""
        self._read.clear()
        self._answered.clear()

    def read(self, msgids: set[str]) -> None:
        """Record that the agent read these messages to their end."""
        self._read |= msgids

    def spoke(self, conversation: str, text: str) -> None:
        """Record a message of the agent, which may answer messages that it read before."""
        for entry in self._queue.queued(sorted(self._read - self._answered)):
            question = entry.question
            is_here = fold(question.conversation) == fold(conversation)
            if is_here and (question.channel is None or is_mentioned(text, question.sender)):
                self._answered.add(question.msgid)

    @property
    def answered(self) -> list[str]:
        """Return the ids of the messages that the turn answered."""
        return sorted(self._answered)
