"""Masks: `*` stands for any text, `?` for any character (RFC 2812 section 2.5)."""

from culture.names import fold


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
