"""Sanitize text of other people: one line without formatting, control or bidirectional characters."""

import re
import unicodedata
from typing import Final

# A colour code includes the digits behind it (modern.ircdocs.horse, formatting).
_COLOUR = re.compile(r"\x03(\d{1,2}(,\d{1,2})?)?|\x04([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?")
_FORMATTING: Final = dict.fromkeys(map(ord, "\x02\x0f\x11\x16\x1d\x1e\x1f"))
# Control characters and line separators can make one line look like two; bidirectional controls can reverse
# what is shown. Joiners of emoji and scripts, which are in category Cf as well, stay.
_FORGING: Final = frozenset({"Cc", "Zl", "Zp", "Cs"})
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def neutral(text: str) -> str:
    """Return the text as one line without formatting, control and bidirectional characters."""
    if text.isprintable():
        return text.strip()
    plain = _COLOUR.sub("", text).translate(_FORMATTING)
    return "".join(" " if _is_forging(char) else char for char in plain if char not in _BIDI).strip()


def _is_forging(char: str) -> bool:
    return unicodedata.category(char) in _FORGING
