"""Split long text into lines that fit, at spaces if possible and never inside a character."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from culture.protocol.framing import BODY_BYTES
from culture.protocol.multiline import Fragment

# What follows a character and belongs to it: joiners, variation selectors, skin tones.
_JOINER: Final = "\u200d"
_ATTACHED: Final = frozenset(_JOINER + "\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
# Two of these make one flag.
_REGIONAL: Final = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
# A server may show others a longer source than ours looks today (a host name looked up late, a cloak).
_SPARE_BYTES: Final = 10
_UNKNOWN_USER_AND_HOST_BYTES: Final = 1 + 10 + 1 + 63
# NUL cannot be sent; \1 would make a request to other clients' programs of a text (CTCP).
_UNSPEAKABLE: Final = str.maketrans("", "", "\0\1")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def room_for_text(nick: str, source: str, command: str, target: str) -> int:
    """Return how many bytes of text fit into one line when the server adds the client's source."""
    known = len(source.encode()) + _SPARE_BYTES if "!" in source else 0
    source_bytes = max(known, len(nick.encode()) + _UNKNOWN_USER_AND_HOST_BYTES)
    around = f": {command} {target} :\r\n"
    return BODY_BYTES - source_bytes - len(around.encode())


def split_text(text: str, room_bytes: int) -> list[str]:
    """Return a text as lines to send, in order, without the empty ones."""
    lines = [piece.rstrip() for line in _lines(text) for piece in _split_line(line, room_bytes)]
    return [line for line in lines if line]


def split_fragments(text: str, room_bytes: int, most_bytes: int, most_lines: int) -> list[list[Fragment]]:
    """Return a text as multiline messages, complete except for blank lines at both ends.

    Each message has at most `most_lines` lines (0: any number) and `most_bytes` bytes with a line end for
    each line, which is slightly more than IRCv3 draft/multiline counts.
    """
    messages: list[list[Fragment]] = [[]]
    left = most_bytes
    for fragment in _fragments(text, min(room_bytes, most_bytes - 1)):
        size = len(fragment.text.encode()) + 1
        if messages[-1] and (size > left or 0 < most_lines <= len(messages[-1])):
            messages.append([])
            left = most_bytes
        left -= size
        messages[-1].append(fragment)
    return [trimmed for message in messages if (trimmed := _without_blank_ends(message))]


def one_line(text: str) -> str:
    """Return a text as one line, for a topic or a reason."""
    return _LINE_END.sub(" ", text.translate(_UNSPEAKABLE)).strip()


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in _LINE_END.split(text.translate(_UNSPEAKABLE))]


def _fragments(text: str, room_bytes: int) -> Iterator[Fragment]:
    for line in _lines(text):
        first, *others = _split_line(line, room_bytes)
        yield Fragment(first)
        yield from (Fragment(piece, is_joined=True) for piece in others)


def _without_blank_ends(message: list[Fragment]) -> list[Fragment]:
    """Begins a line, whatever the first of what is left went on from."""
    spoken = [number for number, fragment in enumerate(message) if fragment.text.strip()]
    if not spoken:
        return []
    first, *others = message[spoken[0] : spoken[-1] + 1]
    return [Fragment(first.text), *others]


def _split_line(line: str, room_bytes: int) -> list[str]:
    """Pieces that make up the line when they are put together again; the spaces end the pieces."""
    pieces = []
    while len(line.encode()) > room_bytes:
        cut = _whole_characters(line, room_bytes)
        # Behind the last space that fits, if there is something before it.
        space = line.rfind(" ", 1, cut)
        if space > 0 and line[:space].strip():
            cut = space + 1
        pieces.append(line[:cut])
        line = line[cut:]
    return [*pieces, line]


def _whole_characters(line: str, room_bytes: int) -> int:
    """How many leading code points fit, without tearing off what belongs to the last of them."""
    fits = len(line.encode()[:room_bytes].decode(errors="ignore"))
    cut = fits
    while cut > 1 and _belongs_together(line, cut):
        cut -= 1
    # A run of marks longer than a line has no good place to cut.
    return cut if cut > 1 or fits == 1 else fits


def _belongs_together(line: str, cut: int) -> bool:
    """Whether a cut here would tear a character apart."""
    before, after = line[cut - 1], line[cut]
    if before in _REGIONAL and after in _REGIONAL:
        run = re.search(r"[\U0001f1e6-\U0001f1ff]+$", line[:cut])
        return run is not None and len(run[0]) % 2 == 1
    return before == _JOINER or after in _ATTACHED or unicodedata.combining(after) != 0
