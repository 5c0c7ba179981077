"""Post the model's final text on IRC after a turn in which the agent wrote nothing there itself."""

from typing import Final, Protocol

from culture.agent.turns.turns import Turn

# The same limits as for one `irc send`.
MAX_BYTES: Final = 32 * 1024
MAX_LINES: Final = 400


class TextSender(Protocol):
    """Sends text on IRC as the agent."""

    async def say(self, target: str, text: str) -> object:
        """Send a PRIVMSG and return when the server has accepted it. Raise CultureError if it refuses."""

    def note(self, target: str, text: str) -> None:
        """Send a NOTICE, which starts no turn of another agent."""


async def post_final_text(sender: TextSender, turn: Turn) -> None:
    """Post the final text where the turn's first message came from. Raise CultureError if that fails."""
    question = turn.question
    text = truncated(turn.final_text)
    if question.by_agent and question.channel is None:
        # A PRIVMSG would start a turn of the other agent, whose final text would start one here: a loop.
        sender.note(question.conversation, text)
    else:
        await sender.say(question.conversation, text)


def truncated(text: str) -> str:
    """Return the text, truncated to what people read in a channel."""
    lines = text.split("\n")
    head = "\n".join(lines[:MAX_LINES]).encode()[:MAX_BYTES].decode(errors="ignore")
    return head if head == text else f"{head.rstrip()}\n[truncated: culturectl log shows the rest]"
