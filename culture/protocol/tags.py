"""Parse, format and escape message tags (IRCv3 message-tags)."""

import re
from collections.abc import Mapping, Sequence

_ESCAPES = {";": r"\:", " ": r"\s", "\\": r"\\", "\r": r"\r", "\n": r"\n"}
_UNESCAPES = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_SPECIAL = re.compile(r"[; \\\r\n]")


def escape_value(value: str) -> str:
    """Escape a tag value for the wire."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], value)


def unescape_value(value: str) -> str:
    """Undo escape_value. Drop the backslash of an unknown escape and a lone one at the end."""
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda found: _UNESCAPES.get(found[1], found[1]), value)


def parse_tags(text: str) -> dict[str, str]:
    """Parse the text between `@` and the first space. A missing value is empty; the last duplicate wins."""
    tags = {}
    for tag in text.split(";"):
        name, _, value = tag.partition("=")
        if name:
            tags[name] = unescape_value(value)
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    """Format tags without the leading `@`."""
    return ";".join(f"{name}={escape_value(value)}" if value else name for name, value in tags.items())


def is_client_only(name: str) -> bool:
    """Return whether this is a client-only tag, which the server relays between clients."""
    return name.startswith("+")


def is_denied(name: str, denied: Sequence[str]) -> bool:
    """Return whether CLIENTTAGDENY blocks a client-only tag: by name, or by `*` without its `-name`."""
    bare = name[1:]
    return f"-{bare}" not in denied if denied[:1] == ("*",) else bare in denied
