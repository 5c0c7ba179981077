"""How a question reads on IRC, and which choice an answer to it makes."""

import re
import secrets
import textwrap
from collections.abc import Sequence
from typing import Final

from culture.agent.turns.prompt import readable_lines
from culture.client.splitting import one_line
from culture.names import NICK_CHARS, fold
from culture.protocol.mentions import find_mentions
from culture.store.agent.questions import StoredQuestion

# The longest quotation of a question in an alert, and the longest name of a task.
QUOTE_LENGTH: Final = 200
# Characters of an id that are hard to mistake for each other, and make no words.
_ID_CHARS: Final = "bcdfghjkmnpqrstvwxz23456789"
# The choices of every question that is a decision.
DECISION: Final = ("yes", "no", "abort")
# A question mark of any script with no word behind it, such as `which one? :)`.
_ENDS_AS_QUESTION: Final = re.compile(r"[?\uff1f\u061f\u2047-\u2049\u203d][\W_]*\Z")
# The marks by which a text says itself that it wants a yes or a no.
_WANTS_DECISION: Final = re.compile(r"[\[(]\s*(?:y|yes)\s*/\s*(?:n|no)\b[^\])]*[\])]", re.IGNORECASE)
_SHORT: Final = {"y": "yes", "n": "no"}
# Choices that stay what they are whatever else is said.
_REFUSALS: Final = ("no", "abort")
# What makes an answer depend on something that nobody checks.
_CONDITIONS: Final = frozenset(
    ("if", "unless", "but", "except", "only", "after", "once", "when", "until", "provided", "not", "maybe")
)
_ADDRESS: Final = re.compile(rf"\s*@?([{NICK_CHARS}]+)[:,]?\s+")
_CLAUSE: Final = re.compile(r"[,.;:!\u2013\u2014-]+\s+")
_WORD: Final = re.compile(r"[\w'\u2019-]+")


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return _ENDS_AS_QUESTION.search(text) is not None


def options_in(text: str) -> tuple[str, ...]:
    """Return the choices of a text that asks for yes or no, such as `Proceed? [y/N]`; nothing otherwise."""
    return DECISION if _WANTS_DECISION.search(text) else ()


def without_address(text: str, nick: str) -> str:
    """Return a text without the mention of a nick at its beginning."""
    found = _ADDRESS.match(text)
    return text[found.end() :] if found and fold(found[1]) == fold(nick) else text.strip()


def choice_of(text: str, options: Sequence[str], ignored: str = "") -> str:
    """Return the choice that a text makes, or nothing if it is not clear.

    The choice is the first word or the whole last clause: `yes, go ahead` and `looks safe, yes`. A text that
    asks, that names two choices or that makes a condition is no decision. `ignored` is the question's id.
    """
    if is_question(text):
        return ""
    words = [word for word in _words(text) if word != ignored]
    known = [*options, *(short for short, long in _SHORT.items() if long in options)]
    made = [_SHORT.get(word, word) for word in words if word in known]
    if len(set(made)) != 1:
        return ""
    if made[0] not in _REFUSALS and _CONDITIONS.intersection(words):
        return ""
    last = [word for word in _words(_CLAUSE.split(text.strip().rstrip(".!"))[-1]) if word != ignored]
    return made[0] if words[0] in known or (len(last) == 1 and last[0] in known) else ""


def has_word(text: str, word: str) -> bool:
    """Return whether a text contains a word."""
    return word in _words(text)


def compose(question: StoredQuestion, nick: str, *, with_id: bool) -> str:
    """Return the lines that ask a question on IRC.

    `with_id` asks for the question's id in the answer, because other questions are open in the same place.
    """
    task = f'Task "{question.task}"' if question.task else nick
    mention = f"@{nick} " if question.place.startswith(("#", "&")) else ""
    choices = "/".join(question.options) or "your answer"
    id = f" {question.id}" if with_id else ""
    lines = [
        f"[QUESTION] {task} needs input:",
        f'"{question.text}"',
        f"Waiting for response{_from(question)}. Reply with: {mention}{choices}{id}",
    ]
    return "\n".join(lines)


def _from(question: StoredQuestion) -> str:
    """Return whom the question names in a form that does not mention them once it is quoted."""
    called = {fold(each): each for each in question.named}
    mentioned = find_mentions(f'"{question.text}"', called.get)
    rest = [f"@{nick}" for nick in question.named if nick not in mentioned]
    return f" from {', '.join(rest)}" if rest else ""


def answered_line(question: StoredQuestion) -> str:
    """Return the line that tells other places how a question was answered."""
    answer = question.choice or one_line(question.answer)
    return (
        f"[ANSWERED] Question {question.id} has an answer: {answer}, "
        f"by {question.answered_by} ({question.authority})"
    )


def quoted(question: StoredQuestion) -> str:
    """Return the text of a question as alerts quote it."""
    return '"' + textwrap.shorten(one_line(question.text), QUOTE_LENGTH, placeholder=" …") + '"'


def new_id() -> str:
    """Return an id that people can type: the letter q and three more characters."""
    return "q" + "".join(secrets.choice(_ID_CHARS) for _ in range(3))


def told(text: str) -> str:
    """Return a text of somebody else as one line without control characters."""
    return " ".join(filter(None, (line.strip() for line in readable_lines(text))))


def _words(text: str) -> list[str]:
    return [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]
