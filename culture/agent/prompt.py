"""What was said on IRC, as the prompt of a turn. The text is data: it cannot pass for anything else."""

import re
import unicodedata
from typing import Final

from culture.agent.attention import ACTION
from culture.client.events import Said

# Colours carry digits that mean nothing without them (modern.ircdocs.horse, formatting).
_COLOUR = re.compile(r"\x03(\d{1,2}(,\d{1,2})?)?|\x04([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?")
_FORMATTING: Final = dict.fromkeys(map(ord, "\x02\x0f\x11\x16\x1d\x1e\x1f"))
# Control characters and line separators, by which a line could look like two; and format characters
# that turn the direction of writing. The joiners of emoji and scripts (Cf, too) are left alone.
_FORGING: Final = frozenset({"Cc", "Zl", "Zp", "Cs"})
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def format_prompt(said: Said) -> str:
    """`[IRC @mention in #channel] <sender> message`, always one line."""
    where = "IRC DM" if said.channel is None else f"IRC @mention in {neutral(said.channel)}"
    return f"[{where}] <{neutral(said.sender)}> {spoken(said.text)}"


def spoken(text: str) -> str:
    """What a person would have read."""
    return neutral(f"/me {text.removeprefix(ACTION)}" if text.startswith(ACTION) else text)


def neutral(text: str) -> str:
    """The text in one line, without formatting and without what only serves to deceive."""
    if text.isprintable():
        return text.strip()
    plain = _COLOUR.sub("", text).translate(_FORMATTING)
    return "".join(" " if _is_forging(char) else char for char in plain if char not in _BIDI).strip()


def _is_forging(char: str) -> bool:
    return unicodedata.category(char) in _FORGING
