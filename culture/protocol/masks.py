"""Masks: `*` stands for any text, `?` for any character (RFC 2812 section 2.5)."""

import re
from collections.abc import Callable

from culture.names import fold

# What a character of a folded mask stands for, besides the case of letters (CASEMAPPING=rfc1459).
_EITHER = {"?": ".", "{": r"[{\[]", "}": r"[}\]]", "|": r"[|\\]", "^": "[~^]"}


def is_match(mask: str, text: str) -> bool:
    """Compares without case, in at most len(mask) * len(text) steps: masks come from clients."""
    mask, text = fold(mask), fold(text)
    at = position = resume = 0
    star = -1
    while position < len(text):
        if at < len(mask) and mask[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(mask) and mask[at] in ("?", text[position]):
            at += 1
            position += 1
        elif star >= 0:
            # Let the last star take one character more. Earlier ones need no second try.
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return not mask[at:].strip("*")


def matcher(mask: str) -> Callable[[str], bool]:
    """`is_match` of one mask with many texts: slower to make, and several times as fast."""
    first, *rest = (
        "".join(_EITHER.get(char) or re.escape(char) for char in part) for part in fold(mask).split("*")
    )
    # Each part is looked for once, behind the one before it, and never elsewhere: no backtracking.
    pattern = first + "".join(f"(?>.*?{part})" for part in rest[:-1])
    if rest:
        pattern += f".*{rest[-1]}"
    # These flags make the case of ASCII letters alone not matter.
    whole = re.compile(pattern, re.DOTALL | re.IGNORECASE | re.ASCII)
    return lambda text: whole.fullmatch(text) is not None
