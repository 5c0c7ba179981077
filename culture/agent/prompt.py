"""What was said on IRC, as the prompt of a turn. The text is data: it cannot pass for anything else."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from culture.agent.attention import Concern
from culture.protocol.ctcp import ACTION
from culture.store.agent.queue import Entry, Question

# Colours carry digits that mean nothing without them (modern.ircdocs.horse, formatting).
_COLOUR = re.compile(r"\x03(\d{1,2}(,\d{1,2})?)?|\x04([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?")
_FORMATTING: Final = dict.fromkeys(map(ord, "\x02\x0f\x11\x16\x1d\x1e\x1f"))
# Control characters and line separators, by which a line could look like two; and format characters
# that turn the direction of writing. The joiners of emoji and scripts (Cf, too) are left alone.
_FORGING: Final = frozenset({"Cc", "Zl", "Zp", "Cs"})
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
# No line of ours begins so: what follows a line end cannot pass for the next message.
_CONTINUED: Final = "\n    "


def format_prompt(entries: Sequence[Entry]) -> str:
    """`[IRC @mention in #channel] <sender> message` for each; the lines of a message are indented.

    Those that the backend was given before stand first, behind a line that says so.
    """
    lines = [_format_question(entry.question) for entry in entries]
    repeats = sum(entry.is_repeat for entry in entries)
    return "\n".join([_repeated(repeats), *lines] if repeats else lines)


def _repeated(count: int) -> str:
    what = "the next message was" if count == 1 else f"the next {count} messages were"
    return f"[IRC again] your last turn broke off: {what} given to you before"


def _format_question(question: Question) -> str:
    return f"[{_label(question)}] <{neutral(question.sender)}> {_CONTINUED.join(spoken(question.text))}"


def _label(question: Question) -> str:
    if question.channel is None:
        return "IRC DM"
    called = "IRC reply" if question.concern == Concern.REPLY else "IRC @mention"
    return f"{called} in {neutral(question.channel)}"


def spoken(text: str) -> list[str]:
    """What a person would have read, line by line."""
    if text.startswith(ACTION):
        text = f"/me {text.removeprefix(ACTION)}"
    return [neutral(line) for line in text.split("\n")]


def neutral(text: str) -> str:
    """The text in one line, without formatting and without what only serves to deceive."""
    if text.isprintable():
        return text.strip()
    plain = _COLOUR.sub("", text).translate(_FORMATTING)
    return "".join(" " if _is_forging(char) else char for char in plain if char not in _BIDI).strip()


def _is_forging(char: str) -> bool:
    return unicodedata.category(char) in _FORGING
