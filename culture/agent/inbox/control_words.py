"""Recognise the words by which people stop, abort, pause and resume an agent on IRC."""

import re
from enum import StrEnum
from typing import Final

from culture.client.events import Said
from culture.names import NICK_CHARS, fold


class ControlWord(StrEnum):
    """A word that a person says to an agent, and that its daemon carries out without a turn."""

    STOP = "stop"
    ABORT = "abort"
    PAUSE = "pause"
    RESUME = "resume"


_WORD: Final = re.compile(
    rf"(?:@?(?P<nick>[{NICK_CHARS}]+)[:,]?\s+)?(?P<word>{'|'.join(ControlWord)})\s*[.!]*", re.IGNORECASE
)


def control_word(said: Said, own_nick: str) -> ControlWord | None:
    """Return the word if a message is nothing but `@nick stop`, or `stop` in private; otherwise None."""
    found = _WORD.fullmatch(said.text.strip())
    if found is None:
        return None
    is_addressed = said.channel is None if found["nick"] is None else fold(found["nick"]) == fold(own_nick)
    return ControlWord(found["word"].lower()) if is_addressed else None
