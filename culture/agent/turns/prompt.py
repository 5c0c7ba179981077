"""Format IRC messages as the prompt of a turn, so that no message text can imitate another message."""

from collections.abc import Sequence
from typing import Final

from culture.agent.inbox.attention import Concern
from culture.names import as_one_word
from culture.protocol.ctcp import ACTION
from culture.protocol.plain_text import neutral
from culture.store.agent.queue import QueuedMessage, QueueEntry

# The concern of a message that brings the answer to a question of the agent. Its msgid is `answer:ID`.
ANSWER_CONCERN: Final = "answer"
# Continuation lines are indented and message headers are not, so message text cannot forge a header.
_CONTINUED: Final = "\n    "


def format_prompt(entries: Sequence[QueueEntry], advice: Sequence[str] = ()) -> str:
    """Return `[IRC @mention in #channel] <sender> message` for each message, continuation lines indented.

    The lines of `advice` come first. If the backend was given some of the messages before, they come next,
    after a line that says so.
    """
    lines = [_format_question(entry.question) for entry in entries]
    repeats = sum(entry.is_repeat for entry in entries)
    return "\n".join([*advice, *([_repeated(repeats)] if repeats else []), *lines])


def _repeated(count: int) -> str:
    what = "the next message was" if count == 1 else f"the next {count} messages were"
    return f"[IRC again] your last turn broke off: {what} given to you before"


def _format_question(question: QueuedMessage) -> str:
    text = _CONTINUED.join(readable_lines(question.text))
    return f"[{_label(question)}] <{_name(question.sender, '<>')}> {text}"


def question_id(answer: QueuedMessage) -> str:
    """Return the id of the question whose answer a message brings."""
    return answer.msgid.split(":")[1]


def _label(question: QueuedMessage) -> str:
    if question.concern == ANSWER_CONCERN:
        return f"IRC answer to question {question_id(question)}"
    if question.channel is None:
        return "IRC DM"
    kind = "IRC reply" if question.concern == Concern.REPLY else "IRC @mention"
    return f"{kind} in {_name(question.channel, '[]')}"


def _name(name: str, brackets: str) -> str:
    return as_one_word(neutral(name), brackets)


def readable_lines(text: str) -> list[str]:
    """Return the lines of a message as an IRC client shows them, without control characters."""
    if text.startswith(ACTION):
        text = f"/me {text.removeprefix(ACTION)}"
    return [neutral(line) for line in text.split("\n")]
