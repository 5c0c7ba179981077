"""Keep what a supervisor spends below a share of what its agent spends."""

from typing import Final

from culture.agent.contract import (
    Assistant,
    ContextChanged,
    Message,
    RateLimit,
    Result,
    ToolResult,
    Usage,
    UsageReport,
)

# The largest part of the agent's tokens that its supervisor may use.
SHARE: Final = 0.05
# What it may use in any case, so that short tasks are judged too: about six evaluations.
FLOOR_TOKENS: Final = 20_000
_CHARACTERS_PER_TOKEN: Final = 4


class SpendingBound:
    """Counts the tokens of an agent and of its supervisor since the daemon started.

    A backend that reports no usage before the end of a turn is counted by what is seen of it: each reply of
    the model costs at least what was said in the turn until then.
    """

    def __init__(self) -> None:
        self._ended_tokens = 0
        self._turn_tokens = 0
        # For the estimate: the characters of the running turn, and the tokens that its replies cost at least.
        self._turn_characters = 0
        self._estimated_tokens = 0
        self.spent_tokens = 0

    @property
    def agent_tokens(self) -> int:
        """Return how many tokens the agent used, as far as it is known."""
        return self._ended_tokens + max(self._turn_tokens, self._estimated_tokens)

    @property
    def allowed_tokens(self) -> int:
        """Return how many tokens the supervisor may use in total by now."""
        return max(FLOOR_TOKENS, int(self.agent_tokens * SHARE))

    def observe(self, message: Message) -> None:
        """Count what the agent used."""
        match message:
            case Assistant():
                self._estimated_tokens += self._turn_characters // _CHARACTERS_PER_TOKEN
                self._turn_characters += len(message.text)
            case ToolResult():
                self._turn_characters += len(message.text)
            case UsageReport():
                self._turn_tokens = tokens_of(message.usage)
            case Result():
                reported = tokens_of(message.usage) if message.usage else self._turn_tokens
                self._ended_tokens += reported or self._estimated_tokens
                self._turn_tokens = self._turn_characters = self._estimated_tokens = 0
            case ContextChanged() | RateLimit():
                return

    def allows(self, tokens: int) -> bool:
        """Return whether the supervisor may use so many tokens now."""
        return self.spent_tokens + tokens <= self.allowed_tokens

    def spend(self, tokens: int) -> None:
        """Count what the supervisor used."""
        self.spent_tokens += tokens


def tokens_of(usage: Usage) -> int:
    """Return all tokens of a call, read and written."""
    return usage.input_tokens + usage.output_tokens
