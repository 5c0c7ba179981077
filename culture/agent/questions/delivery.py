"""The prompt that brings the answer to a question to an agent that no longer waits for it."""

from typing import Final

from culture.agent.questions.wording import told
from culture.agent.turns.prompt import ANSWER_CONCERN
from culture.config.agent.trust import TrustConfig
from culture.names import is_channel
from culture.protocol.plain_text import neutral
from culture.store.agent.questions import QuestionKind, Standing, StoredQuestion
from culture.store.agent.queue import ANSWER, QueuedMessage

_TIMEOUT: Final = ":timeout"
_PERMISSIONS: Final = {
    "yes": "It is allowed once, exactly as you asked. Do it now.",
    "no": "It is not allowed: do not do it.",
    "abort": "It is not allowed: stop the task.",
}


def answer_prompt(question: StoredQuestion, now_ms: int) -> QueuedMessage:
    """Return the message that delivers an answer; `format_prompt` labels it with the question's id."""
    lines = [told(question.answer), f'You asked in {question.place}: "{told(question.text)}"']
    if question.kind is QuestionKind.PERMISSION:
        lines.append(_PERMISSIONS.get(question.choice, ""))
    if question.context:
        lines.append(f"That was for: {told(question.context)}")
    return _message(question, question.answered_by, "\n".join(lines), now_ms)


def timeout_prompt(question: StoredQuestion, trust: TrustConfig, now_ms: int) -> QueuedMessage:
    """Return the message that tells an agent what to do because nobody answered in time."""
    what = {"deny": "act as after a no", "abort": "stop the task", "pause": "wait"}[trust.timeout_action]
    text = f"nobody answered within {trust.timeout}: {what}. A later answer still comes."
    lines = [text, f'You asked in {question.place}: "{told(question.text)}"']
    message = _message(question, "nobody", "\n".join(lines), now_ms)
    # No person spoke, so a conversation in which the agent stands down stays held back.
    return message._replace(msgid=message.msgid + _TIMEOUT, by_agent=True)


def is_timeout(message: QueuedMessage) -> bool:
    """Return whether a message tells that nobody answered in time."""
    return message.msgid.endswith(_TIMEOUT)


def _message(question: StoredQuestion, by: str, text: str, now_ms: int) -> QueuedMessage:
    place = question.place
    channel, sender = (place, neutral(by)) if is_channel(place) else (None, place)
    by_agent = question.authority != Standing.PERSON
    return QueuedMessage(f"{ANSWER}{question.id}", ANSWER_CONCERN, sender, channel, text, now_ms, by_agent)
