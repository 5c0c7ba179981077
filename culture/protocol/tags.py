"""Message tags: the escaping of their values and their form on the wire (IRCv3 message-tags)."""

import re
from collections.abc import Mapping, Sequence

_ESCAPES = {";": r"\:", " ": r"\s", "\\": r"\\", "\r": r"\r", "\n": r"\n"}
_UNESCAPES = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_SPECIAL = re.compile(r"[; \\\r\n]")


def escape_value(value: str) -> str:
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], value)


def unescape_value(value: str) -> str:
    """An unknown escape loses its backslash, and so does a lone one at the end."""
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda found: _UNESCAPES.get(found[1], found[1]), value)


def parse_tags(text: str) -> dict[str, str]:
    """What stands between `@` and the first space. No value is an empty one; of two the last counts."""
    tags = {}
    for tag in text.split(";"):
        name, _, value = tag.partition("=")
        if name:
            tags[name] = unescape_value(value)
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    return ";".join(f"{name}={escape_value(value)}" if value else name for name, value in tags.items())


def is_client_only(name: str) -> bool:
    """Whether clients may pass this tag on to each other through the server."""
    return name.startswith("+")


def is_denied(name: str, denied: Sequence[str]) -> bool:
    """Whether a client-only tag is on a list of CLIENTTAGDENY: names, or `*` and each `-name` that passes."""
    bare = name[1:]
    return f"-{bare}" not in denied if denied[:1] == ("*",) else bare in denied
