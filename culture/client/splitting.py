"""Long text to lines that fit: whole words where possible, whole characters always."""

import unicodedata
from typing import Final

from culture.protocol.framing import BODY_BYTES

# What follows a character and belongs to it: joiners, variation selectors, skin tones.
_JOINER: Final = "\u200d"
_ATTACHED: Final = frozenset(_JOINER + "\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
# A server may show others a longer source than ours looks today (a host name looked up late, a cloak).
_SPARE_BYTES: Final = 10
_UNKNOWN_USER_AND_HOST_BYTES: Final = 1 + 10 + 1 + 63


def room_for_text(nick: str, source: str, command: str, target: str) -> int:
    """How many bytes of text fit into one line, as others will see it with our source in front."""
    known = len(source.encode()) + _SPARE_BYTES if "!" in source else 0
    source_bytes = max(known, len(nick.encode()) + _UNKNOWN_USER_AND_HOST_BYTES)
    around = f": {command} {target} :\r\n"
    return BODY_BYTES - source_bytes - len(around.encode())


def split_text(text: str, room_bytes: int) -> list[str]:
    """The lines to send, in order. Empty ones cannot be sent and are left out."""
    lines = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [piece for line in lines if line.strip() for piece in _split_line(line.rstrip(), room_bytes)]


def _split_line(line: str, room_bytes: int) -> list[str]:
    pieces = []
    while len(line.encode()) > room_bytes:
        cut = _whole_characters(line, room_bytes)
        # At the last space that leaves something before it; the space itself is not sent.
        space = line.rfind(" ", 1, cut + 1)
        if space > 0 and line[:space].strip():
            pieces.append(line[:space].rstrip())
            line = line[space:].lstrip(" ")
        else:
            pieces.append(line[:cut])
            line = line[cut:]
    return [*pieces, line] if line else pieces


def _whole_characters(line: str, room_bytes: int) -> int:
    """How many leading code points fit, without tearing off what belongs to the last of them."""
    fits = len(line.encode()[:room_bytes].decode(errors="ignore"))
    cut = fits
    while cut > 1 and _belongs_together(line[cut - 1], line[cut]):
        cut -= 1
    # A run of marks longer than a line has no good place to cut.
    return cut if cut > 1 or fits == 1 else fits


def _belongs_together(before: str, after: str) -> bool:
    return before == _JOINER or after in _ATTACHED or unicodedata.combining(after) != 0
